-- Reading history again by the dialects in force: one row each, with how far it has come.
CREATE TABLE base.renormalizations (
    id VARCHAR NOT NULL,
    requested_at TIMESTAMP_NS NOT NULL,
    since TIMESTAMP_NS,
    until TIMESTAMP_NS,
    dry_run BOOLEAN NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    next_seq BIGINT NOT NULL,
    state VARCHAR NOT NULL,
    report JSON NOT NULL,
    error VARCHAR,
    ended_at TIMESTAMP_NS
);
