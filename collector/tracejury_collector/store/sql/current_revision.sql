-- Where the current revision of a trace lies.
SELECT
    revision, completed_by, first_seq, last_seq, epoch_ns(spans_deleted_at) AS spans_deleted_at_ns
FROM base.traces
WHERE id_key = base.id_key($trace_id) AND trace_id = $trace_id AND NOT superseded
