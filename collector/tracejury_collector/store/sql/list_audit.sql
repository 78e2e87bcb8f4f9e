-- One page of the audit log, newest first.
SELECT
    a.audit_id, epoch_ns(a.created_at) AS created_at_ns, a.key_id, a.key_name, a.project, a.method, a.route,
    a.target, a.status, a.outcome
FROM main.audit AS a
WHERE
    ($key::VARCHAR IS NULL OR a.key_id = $key OR a.key_name = $key)
    AND ($outcome::VARCHAR IS NULL OR a.outcome = $outcome)
    AND ($since_ns::BIGINT IS NULL OR a.created_at >= make_timestamp_ns($since_ns))
    AND (
        $before_ns::BIGINT IS NULL
        OR (a.created_at, a.audit_id) < (make_timestamp_ns($before_ns), $before_id::VARCHAR)
    )
ORDER BY a.created_at DESC, a.audit_id DESC
LIMIT $limit
