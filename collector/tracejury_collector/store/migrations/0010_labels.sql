-- What people and programs say about traces, one row a label: one id stands in it once.
CREATE TABLE base.labels (
    label_id VARCHAR NOT NULL,
    trace_id VARCHAR,
    span_id VARCHAR,
    session_id VARCHAR,
    project VARCHAR,
    name VARCHAR NOT NULL,
    score DOUBLE,
    verdict VARCHAR,
    value DOUBLE,
    label VARCHAR,
    comment VARCHAR USING COMPRESSION zstd,
    author VARCHAR,
    source VARCHAR NOT NULL,
    created_at TIMESTAMP_NS NOT NULL,
    received_at TIMESTAMP_NS NOT NULL
);

-- Ids of labels that were taken back: a span that is sent again does not bring them again.
CREATE TABLE base.deleted_labels (
    label_id VARCHAR NOT NULL,
    deleted_at TIMESTAMP_NS NOT NULL
);

CREATE VIEW main.labels AS
SELECT
    label_id,
    CASE
        WHEN trace_id IS NULL THEN 'session' WHEN span_id IS NULL THEN 'trace' ELSE 'span'
    END AS target_kind,
    trace_id, span_id, session_id, project, name, score, verdict, value, label, comment, author,
    source, created_at, received_at
FROM base.labels;

COMMENT ON VIEW main.labels IS 'What people and programs say about traces and sessions.';
COMMENT ON COLUMN main.labels.label_id IS 'Its id, as the sender chose it or made here.';
COMMENT ON COLUMN main.labels.target_kind IS 'What it is about: trace, span, session.';
COMMENT ON COLUMN main.labels.trace_id IS 'The trace; NULL: about a session.';
COMMENT ON COLUMN main.labels.span_id IS 'The span; NULL: about the whole trace or a session.';
COMMENT ON COLUMN main.labels.session_id IS 'The session it is about; NULL: about a trace or span.';
COMMENT ON COLUMN main.labels.project IS 'The project, where the sender said it.';
COMMENT ON COLUMN main.labels.name IS 'What was asked about: correct, helpful, …';
COMMENT ON COLUMN main.labels.score IS '0 to 1; NULL: none, or on another scale (see value).';
COMMENT ON COLUMN main.labels.verdict IS 'pass, partial, fail; NULL: none said.';
COMMENT ON COLUMN main.labels.value IS 'The number as given, on whatever scale.';
COMMENT ON COLUMN main.labels.label IS 'The word as given: relevant, incorrect, …';
COMMENT ON COLUMN main.labels.comment IS 'Why, in words.';
COMMENT ON COLUMN main.labels.author IS 'Who said it.';
COMMENT ON COLUMN main.labels.source IS 'How it came: api, span_event, span, log.';
COMMENT ON COLUMN main.labels.created_at IS 'When it was said, by the clock of the sender (UTC).';
COMMENT ON COLUMN main.labels.received_at IS 'When the service stored it (UTC).';
