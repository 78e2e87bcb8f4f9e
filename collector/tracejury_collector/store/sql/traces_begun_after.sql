-- The next traces of which spans have arrived and that are open, by where they begin.
SELECT
    o.first_seq,
    o.trace_id,
    ($service::VARCHAR IS NULL OR o.service_name = $service)
    AND ($project::VARCHAR IS NULL OR o.project = $project)
    AND $session_id::VARCHAR IS NULL AS is_wanted
FROM base.open_traces AS o
WHERE o.first_seq > $seq::BIGINT
ORDER BY o.first_seq
LIMIT $limit
