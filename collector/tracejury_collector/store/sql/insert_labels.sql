-- Store the rows of the Arrow table `new_labels`.
INSERT INTO base.labels (
    label_id, trace_id, span_id, session_id, project, name, score, verdict, value, label, comment,
    author, source, created_at, received_at
)
SELECT
    label_id, trace_id, span_id, session_id, project, name, score, verdict, value, label, comment,
    author, source, make_timestamp_ns(created_at_ns), make_timestamp_ns(?::BIGINT)
FROM new_labels
