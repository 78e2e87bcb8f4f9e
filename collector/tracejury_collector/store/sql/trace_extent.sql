-- Where the arrivals of a trace lie, and what its current revision is (0: none yet).
SELECT
    coalesce(t.trace_id, o.trace_id) AS trace_id,
    coalesce(t.revision, 0) AS revision,
    t.completed_by,
    o.trace_id IS NOT NULL AS is_open,
    epoch_ns(t.spans_deleted_at) AS spans_deleted_at_ns,
    least(t.first_seq, o.first_seq) AS first_seq,
    greatest(t.last_seq, o.last_seq) AS last_seq
FROM (
    FROM base.traces
    WHERE id_key = base.id_key($trace_id) AND trace_id = $trace_id AND NOT superseded
) AS t
FULL JOIN (FROM base.open_traces WHERE trace_id = $trace_id) AS o ON o.trace_id = t.trace_id
