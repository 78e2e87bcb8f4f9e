INSERT INTO base.audit (
    audit_id, created_at, key_id, key_name, project, method, route, target, status
)
VALUES (
    $audit_id, make_timestamp_ns($at_ns::BIGINT), $key_id, $key_name, $project, $method, $route,
    $target, $status
)
