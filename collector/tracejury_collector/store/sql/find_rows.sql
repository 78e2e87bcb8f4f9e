-- Where the rows of base.spans lie whose trace_id is in `removing` (id).
SELECT t.rowid FROM base.spans AS t WHERE t.trace_id IN (SELECT r.id FROM removing AS r)
ORDER BY t.rowid
