-- The order in which results were committed: one writer draws it, so that whoever has seen a
-- number has seen all below it. Numbers of writes that were rolled back are left out. Results of
-- before there was an order come first, with numbers below zero.
CREATE SEQUENCE base.result_positions;
ALTER TABLE base.results ADD COLUMN position BIGINT;
ALTER TABLE base.results ALTER COLUMN position SET DEFAULT nextval('base.result_positions');
UPDATE base.results SET position = rowid - 1000000000000;

-- How far each export has come: results up to `position` were answered for. Counts are of results.
CREATE TABLE base.exports (
    name VARCHAR NOT NULL,
    position BIGINT NOT NULL,
    sent BIGINT NOT NULL,
    rejected BIGINT NOT NULL,
    dropped BIGINT NOT NULL,
    last_sent_at TIMESTAMP_NS,
    failing_since TIMESTAMP_NS,
    last_error VARCHAR
);

-- What was last known of each alert; NULL times: not yet.
CREATE TABLE base.alerts (
    alert VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    since TIMESTAMP_NS NOT NULL,
    checked_at TIMESTAMP_NS,
    notified_at TIMESTAMP_NS,
    announced BOOLEAN NOT NULL,
    summary VARCHAR NOT NULL,
    error VARCHAR
);

-- Messages of alerts, written with the change of state that they tell of, sent afterwards.
CREATE TABLE base.alert_deliveries (
    delivery_id VARCHAR NOT NULL,
    alert VARCHAR NOT NULL,
    event VARCHAR NOT NULL,
    summary VARCHAR NOT NULL,
    body JSON NOT NULL,
    status VARCHAR NOT NULL,
    attempts INTEGER NOT NULL,
    http_status INTEGER,
    error VARCHAR,
    created_at TIMESTAMP_NS NOT NULL,
    next_attempt_at TIMESTAMP_NS,
    finished_at TIMESTAMP_NS
);

CREATE VIEW main.alert_deliveries AS
SELECT
    delivery_id, alert, event, summary, status, attempts, http_status, error, created_at,
    finished_at
FROM base.alert_deliveries;

COMMENT ON VIEW main.alert_deliveries IS 'Messages of alerts, and what became of them.';
COMMENT ON COLUMN main.alert_deliveries.delivery_id IS 'The id in the message: the same at each attempt.';
COMMENT ON COLUMN main.alert_deliveries.alert IS 'The name of the alert.';
COMMENT ON COLUMN main.alert_deliveries.event IS 'firing, reminder, resolved or test.';
COMMENT ON COLUMN main.alert_deliveries.summary IS 'What the message says, in a line.';
COMMENT ON COLUMN main.alert_deliveries.status IS 'waiting, delivered or failed (given up).';
COMMENT ON COLUMN main.alert_deliveries.attempts IS 'How often it was posted so far.';
COMMENT ON COLUMN main.alert_deliveries.http_status IS 'What the last attempt was answered; NULL: nothing.';
COMMENT ON COLUMN main.alert_deliveries.error IS 'Why the last attempt failed; NULL once delivered.';
COMMENT ON COLUMN main.alert_deliveries.created_at IS 'When the alert changed, or was told again.';
COMMENT ON COLUMN main.alert_deliveries.finished_at IS 'When it was delivered or given up; NULL while it waits.';
