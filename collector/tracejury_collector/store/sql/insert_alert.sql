INSERT INTO base.alerts (
    alert, status, since, checked_at, notified_at, announced, summary, error
)
VALUES (
    ?, ?, make_timestamp_ns(?::BIGINT), make_timestamp_ns(?::BIGINT),
    make_timestamp_ns(?::BIGINT), ?, ?, ?
)
