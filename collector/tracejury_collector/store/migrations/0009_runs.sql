-- Judging of history that someone asked for: what, how far it is, what came of it so far.
CREATE TABLE base.runs (
    run_id VARCHAR NOT NULL,
    created_at TIMESTAMP_NS NOT NULL,
    finished_at TIMESTAMP_NS,
    state VARCHAR NOT NULL,
    rule VARCHAR NOT NULL,
    -- What was asked for, with the rule and its evaluators as they were then.
    plan JSON NOT NULL,
    -- Targets are taken newest first; those that begin at or after this are done.
    before_seq BIGINT NOT NULL,
    targets BIGINT NOT NULL,
    counts JSON NOT NULL,
    error VARCHAR NOT NULL
);
