-- Which sessions a page holds, latest activity first. A trace was active until it ended, and at the
-- latest when it was finished: an agent's clock that is ahead brings no session to the top.
-- Only traces finished from `floor_ns` to `ceiling_ns` count, in the revision of then; no session
-- that is missed for it was active since `floor_ns`. `true` is replaced by a checked condition.
SELECT session_id, project, epoch_ns(active_at) AS active_ns, newest_seq
FROM (
    SELECT
        t.session_id,
        t.project,
        max(least(coalesce(t.end_time, t.start_time, t.completed_at), t.completed_at)) AS active_at,
        max(t.first_seq) AS newest_seq,
        bool_or(
            ($service::VARCHAR IS NULL OR t.service_name = $service)
            AND ($user_id::VARCHAR IS NULL OR t.user_id = $user_id)
            AND ($since_ns::BIGINT IS NULL OR t.start_time >= make_timestamp_ns($since_ns))
            AND ($until_ns::BIGINT IS NULL OR t.start_time < make_timestamp_ns($until_ns))
        ) AS matches
    FROM base.traces AS t
    WHERE
        t.session_id IS NOT NULL
        AND ($project::VARCHAR IS NULL OR t.project = $project)
        AND t.completed_at >= make_timestamp_ns($floor_ns)
        AND t.completed_at <= make_timestamp_ns($ceiling_ns)
        AND (
            NOT t.superseded
            OR t.trace_id IN (
                SELECT later.trace_id FROM base.traces AS later
                WHERE later.completed_at > make_timestamp_ns($ceiling_ns) AND later.revision > 1
            )
        )
    GROUP BY t.session_id, t.project
)
WHERE
    matches
    AND active_at >= make_timestamp_ns($floor_ns)
    AND (
        $before_ns::BIGINT IS NULL
        OR (active_at, newest_seq) < (make_timestamp_ns($before_ns), $before_seq::BIGINT)
    )
    AND (true)
ORDER BY active_at DESC, newest_seq DESC
LIMIT $limit
