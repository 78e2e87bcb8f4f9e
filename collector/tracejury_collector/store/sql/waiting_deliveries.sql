-- The oldest unsent message of each alert, if it is due: messages of an alert keep their order.
SELECT
    delivery_id, alert, body::VARCHAR AS body, attempts, epoch_ns(created_at) AS created_at_ns
FROM (
    FROM base.alert_deliveries
    WHERE status = 'waiting'
    QUALIFY row_number() OVER (PARTITION BY alert ORDER BY created_at, delivery_id) = 1
)
WHERE next_attempt_at <= make_timestamp_ns($now_ns::BIGINT)
ORDER BY created_at
