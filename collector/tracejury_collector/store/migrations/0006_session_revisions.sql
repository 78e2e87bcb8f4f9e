-- The session that the spans of an arrival name; NULL where they name none.
ALTER TABLE base.arrivals ADD COLUMN session_id VARCHAR;

-- Sessions with news that no revision of theirs holds; written only while a rule judges sessions.
CREATE TABLE base.open_sessions (
    project VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    first_seen TIMESTAMP_NS NOT NULL,
    last_seen TIMESTAMP_NS NOT NULL,
    -- When to look at it again.
    not_before TIMESTAMP_NS NOT NULL
);

-- A finished session: the revisions of the traces that are judged together as its `members`. It has
-- `traces` traces; there are fewer members where they would be too many to judge.
CREATE TABLE base.session_revisions (
    target_id VARCHAR NOT NULL,
    revision INTEGER NOT NULL,
    project VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    traces BIGINT NOT NULL,
    members STRUCT(trace_id VARCHAR, revision INTEGER, first_seq BIGINT, last_seq BIGINT)[] NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    completed_at TIMESTAMP_NS NOT NULL,
    superseded BOOLEAN NOT NULL
);
