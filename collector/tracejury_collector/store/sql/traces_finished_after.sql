-- The next traces that were finished, in the order of their commits, by where they begin.
SELECT
    t.position,
    t.first_seq,
    NOT t.superseded
    AND ($service::VARCHAR IS NULL OR t.service_name = $service)
    AND ($project::VARCHAR IS NULL OR t.project = $project)
    AND ($session_id::VARCHAR IS NULL OR t.session_id = $session_id) AS is_wanted
FROM base.traces AS t
WHERE t.position > $finished::BIGINT
ORDER BY t.position
LIMIT $limit
