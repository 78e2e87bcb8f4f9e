-- Current revisions of traces that were opened again after `after_seq`. First by the keys of their
-- ids, so that no id is read of all the other traces.
WITH opened AS MATERIALIZED (
    SELECT trace_id FROM base.open_traces WHERE first_seq > $after_seq AND first_seq <= $upto_seq
)
SELECT
    t.trace_id, t.revision, t.first_seq, t.last_seq, t.root_ended,
    epoch_ns(t.completed_at) AS completed_at_ns, t.project,
    coalesce(t.session_id, '') AS session_id
FROM base.traces AS t
SEMI JOIN opened AS o ON o.trace_id = t.trace_id
WHERE t.rowid IN (
    SELECT n.rowid FROM base.traces AS n
    WHERE NOT n.superseded AND n.id_key IN (SELECT base.id_key(o.trace_id) FROM opened AS o)
)
