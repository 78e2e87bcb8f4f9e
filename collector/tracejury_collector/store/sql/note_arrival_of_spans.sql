-- Note the arrival of the rows of the Arrow table `batch`: one row per trace; what is a label and
-- nothing else opens no trace.
INSERT INTO base.arrivals (
    trace_id, project, service_name, seen, first_seq, last_seq, root_seen, root_ended,
    marker_seen, span_count, session_id
)
SELECT
    trace_id,
    arg_min(project, seq),
    arg_min(service_name, seq),
    max(received_at),
    min(seq),
    max(seq),
    bool_or(parent_span_id = ''),
    bool_or(parent_span_id = '' AND end_time_unix_nano > 0),
    bool_or(marker),
    count(*),
    arg_min(session_id, seq)
FROM batch
WHERE NOT is_label
GROUP BY trace_id
