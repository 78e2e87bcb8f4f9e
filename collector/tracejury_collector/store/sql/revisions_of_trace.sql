-- Every revision of a trace, newest first.
SELECT
    revision, completed_by, epoch_ns(completed_at) AS completed_at_ns, span_count, has_root,
    root_ended, superseded, first_seq, last_seq, epoch_ns(spans_deleted_at) AS spans_deleted_at_ns
FROM base.traces
WHERE id_key = base.id_key($trace_id) AND trace_id = $trace_id
ORDER BY revision DESC
