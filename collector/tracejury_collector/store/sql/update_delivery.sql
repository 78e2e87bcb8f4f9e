UPDATE base.alert_deliveries
SET
    status = $status,
    attempts = $attempts,
    http_status = $http_status,
    error = $error,
    next_attempt_at = make_timestamp_ns($next_ns::BIGINT),
    finished_at = make_timestamp_ns($finished_ns::BIGINT)
WHERE delivery_id = $delivery_id
