-- Current revisions of traces (a JSON array of ids). First by the keys of their ids, so that no id is
-- read of all the other traces.
SELECT
    t.trace_id, t.revision, t.first_seq, t.last_seq, t.root_ended,
    epoch_ns(t.completed_at) AS completed_at_ns, t.project,
    coalesce(t.session_id, '') AS session_id
FROM base.traces AS t
WHERE
    t.trace_id IN (SELECT value ->> '$' FROM json_each($trace_ids))
    AND t.rowid IN (
        SELECT n.rowid FROM base.traces AS n
        WHERE
            NOT n.superseded
            AND n.id_key IN (SELECT base.id_key(value ->> '$') FROM json_each($trace_ids))
    )
