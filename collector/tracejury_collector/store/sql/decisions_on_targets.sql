-- The decisions on traces and sessions in `removing` (id).
SELECT d.decision_id FROM base.decisions AS d WHERE d.target_id IN (SELECT r.id FROM removing AS r)
