-- Of these traces (a JSON array of ids), those that have a revision, and by chance others. First by
-- the keys of their ids, so that no id is read of all the other traces.
SELECT DISTINCT t.trace_id
FROM base.traces AS t
WHERE t.rowid IN (
    SELECT n.rowid FROM base.traces AS n
    WHERE n.id_key IN (SELECT base.id_key(value ->> '$') FROM json_each($trace_ids))
)
