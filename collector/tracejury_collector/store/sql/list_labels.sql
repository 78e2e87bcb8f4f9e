-- One page of labels, newest first. `true` is replaced by what chooses by project.
SELECT
    l.label_id, l.target_kind, l.trace_id, l.span_id, l.session_id, l.project, l.name, l.score,
    l.verdict, l.value, l.label, l.comment, l.author, l.source,
    epoch_ns(l.created_at) AS created_at_ns, epoch_ns(l.received_at) AS received_at_ns
FROM main.labels AS l
WHERE
    ($trace_id::VARCHAR IS NULL OR l.trace_id = $trace_id)
    AND ($span_id::VARCHAR IS NULL OR l.span_id = $span_id)
    AND ($session_id::VARCHAR IS NULL OR l.session_id = $session_id)
    AND (true)
    AND ($name::VARCHAR IS NULL OR l.name = $name)
    AND ($verdict::VARCHAR IS NULL OR l.verdict = $verdict)
    AND ($author::VARCHAR IS NULL OR l.author = $author)
    AND ($source::VARCHAR IS NULL OR l.source = $source)
    AND ($since_ns::BIGINT IS NULL OR l.created_at >= make_timestamp_ns($since_ns))
    AND (
        $before_ns::BIGINT IS NULL
        OR (l.created_at, l.label_id) < (make_timestamp_ns($before_ns), $before_id::VARCHAR)
    )
ORDER BY l.created_at DESC, l.label_id DESC
LIMIT $limit
