-- The same of traces that begin between two sequence numbers; rows from before places have none.
SELECT t.rowid FROM base.spans AS t
WHERE
    (t.first_seq BETWEEN $low AND $high OR t.first_seq IS NULL)
    AND t.trace_id IN (SELECT r.id FROM removing AS r)
ORDER BY t.rowid
