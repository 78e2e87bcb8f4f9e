-- Delete those of them that lie between two places.
DELETE FROM base.spans AS t
WHERE t.rowid BETWEEN $low AND $high AND t.trace_id IN (SELECT r.id FROM removing AS r)
