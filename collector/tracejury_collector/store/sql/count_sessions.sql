-- How many sessions a run looks at, and where the newest of them begins.
SELECT count(*) AS sessions, coalesce(max(s.first_seq), -1) AS newest_seq
FROM (
    SELECT min(t.first_seq) AS first_seq
    FROM base.traces AS t
    WHERE NOT t.superseded AND t.session_id IS NOT NULL
    GROUP BY t.project, t.session_id
    HAVING
        bool_or(
            ($since_ns::BIGINT IS NULL
                OR coalesce(t.start_time, t.completed_at) >= make_timestamp_ns($since_ns))
            AND ($until_ns::BIGINT IS NULL
                OR coalesce(t.start_time, t.completed_at) < make_timestamp_ns($until_ns))
        )
) AS s
