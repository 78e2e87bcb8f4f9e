-- Those of the decisions in `asked` (decision_id) that are there.
SELECT d.decision_id FROM base.decisions AS d SEMI JOIN asked AS a ON a.decision_id = d.decision_id
