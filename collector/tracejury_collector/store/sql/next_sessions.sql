-- Sessions whose first trace begins from `low_seq` to before `before_seq`, newest first. Times choose
-- those of which a trace started in between.
SELECT n.project, n.session_id, n.first_seq
FROM (
    SELECT t.project, t.session_id, min(t.first_seq) AS first_seq
    FROM base.traces AS t
    WHERE
        NOT t.superseded
        AND t.session_id IS NOT NULL
        AND t.first_seq >= $low_seq::BIGINT
        AND t.first_seq < $before_seq::BIGINT
    GROUP BY t.project, t.session_id
) AS n
ANTI JOIN (
    FROM base.traces AS t
    WHERE NOT t.superseded AND t.session_id IS NOT NULL AND t.first_seq < $low_seq::BIGINT
) AS e ON e.project = n.project AND e.session_id = n.session_id
WHERE
    ($since_ns::BIGINT IS NULL AND $until_ns::BIGINT IS NULL)
    OR (n.project, n.session_id) IN (
        SELECT (t.project, t.session_id)
        FROM base.traces AS t
        WHERE
            NOT t.superseded
            AND t.session_id IS NOT NULL
            AND ($since_ns::BIGINT IS NULL
                OR coalesce(t.start_time, t.completed_at) >= make_timestamp_ns($since_ns))
            AND ($until_ns::BIGINT IS NULL
                OR coalesce(t.start_time, t.completed_at) < make_timestamp_ns($until_ns))
    )
ORDER BY n.first_seq DESC
LIMIT $limit
