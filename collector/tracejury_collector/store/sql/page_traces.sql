-- Which traces a page holds, newest arrival first: current revisions, and traces never finished.
SELECT first_seq
FROM (
    (
        SELECT t.first_seq
        FROM base.traces AS t
        WHERE
            NOT t.superseded
            AND ($project::VARCHAR IS NULL OR t.project = $project)
            AND ($service::VARCHAR IS NULL OR t.service_name = $service)
            AND ($session_id::VARCHAR IS NULL OR t.session_id = $session_id)
            AND ($since_ns::BIGINT IS NULL OR t.start_time >= make_timestamp_ns($since_ns))
            AND ($until_ns::BIGINT IS NULL OR t.start_time < make_timestamp_ns($until_ns))
            AND ($before_seq::BIGINT IS NULL OR t.first_seq < $before_seq)
        ORDER BY t.first_seq DESC
        LIMIT $limit
    )
    UNION ALL
    (
        SELECT o.first_seq
        FROM base.open_traces AS o
        WHERE
            NOT EXISTS (FROM base.traces AS t WHERE t.trace_id = o.trace_id AND NOT t.superseded)
            AND ($project::VARCHAR IS NULL OR o.project = $project)
            AND ($service::VARCHAR IS NULL OR o.service_name = $service)
            AND $session_id::VARCHAR IS NULL
            AND ($since_ns::BIGINT IS NULL OR o.first_seen >= make_timestamp_ns($since_ns))
            AND ($until_ns::BIGINT IS NULL OR o.first_seen < make_timestamp_ns($until_ns))
            AND ($before_seq::BIGINT IS NULL OR o.first_seq < $before_seq)
        ORDER BY o.first_seq DESC
        LIMIT $limit
    )
)
ORDER BY first_seq DESC
LIMIT $limit
