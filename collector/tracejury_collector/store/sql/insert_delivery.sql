INSERT INTO base.alert_deliveries (
    delivery_id, alert, event, summary, body, status, attempts, created_at, next_attempt_at
)
VALUES (
    ?, ?, ?, ?, ?::JSON, 'waiting', 0, make_timestamp_ns(?::BIGINT), make_timestamp_ns(?::BIGINT)
)
