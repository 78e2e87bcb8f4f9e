INSERT INTO base.exports (
    name, position, sent, rejected, dropped, last_sent_at, failing_since, last_error
)
VALUES (?, ?, ?, ?, ?, make_timestamp_ns(?::BIGINT), make_timestamp_ns(?::BIGINT), ?)
