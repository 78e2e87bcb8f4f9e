-- The newest open traces.
SELECT
    w.trace_id, 0 AS revision, 'open' AS status, w.project, w.service_name, w.first_seq, w.last_seq,
    epoch_ns(w.first_seen) AS start_time_ns, w.span_count
FROM base.open_traces AS w
WHERE
    ($project::VARCHAR IS NULL OR w.project = $project)
    AND ($service::VARCHAR IS NULL OR w.service_name = $service)
    AND ($since_ns::BIGINT IS NULL OR w.first_seen >= make_timestamp_ns($since_ns))
    AND ($until_ns::BIGINT IS NULL OR w.first_seen < make_timestamp_ns($until_ns))
    AND ($before_seq::BIGINT IS NULL OR w.first_seq < $before_seq)
ORDER BY w.first_seq DESC
LIMIT $limit
