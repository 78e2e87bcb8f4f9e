-- Current revisions of traces that were opened again after `after_seq`.
SELECT
    t.trace_id, t.revision, t.first_seq, t.last_seq, t.root_ended,
    epoch_ns(t.completed_at) AS completed_at_ns, t.project,
    coalesce(t.session_id, '') AS session_id
FROM base.traces AS t
JOIN base.open_traces AS o ON o.trace_id = t.trace_id
WHERE NOT t.superseded AND o.first_seq > $after_seq AND o.first_seq <= $upto_seq
