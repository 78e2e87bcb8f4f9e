-- Messages that nobody is left to be told.
UPDATE base.alert_deliveries
SET
    status = 'failed',
    error = 'the alert, or its webhook, is no longer configured',
    next_attempt_at = NULL,
    finished_at = make_timestamp_ns($now_ns::BIGINT)
WHERE status = 'waiting' AND alert NOT IN (SELECT value ->> '$' FROM json_each($told::JSON))
