-- When what had arrived of a trace was deleted; NULL: it is there. Its row, decisions, results and
-- labels stay longer.
ALTER TABLE base.traces ADD COLUMN spans_deleted_at TIMESTAMP_NS;

CREATE OR REPLACE VIEW main.traces AS
SELECT
    t.trace_id, t.revision, t.first_seq, t.last_seq, t.project, t.service_name, t.name, t.kind,
    t.agent_name, t.session_id, t.user_id, t.start_time, t.end_time, t.latency_ms, t.span_count,
    t.llm_calls, t.tool_calls, t.error_count, t.has_error, t.input, t.output, t.models,
    t.input_tokens, t.output_tokens, t.cache_read_tokens, t.cache_write_tokens,
    t.reasoning_tokens, t.total_tokens, t.cost_usd, t.has_root, t.flags, t.completed_by,
    t.completed_at,
    CASE WHEN o.trace_id IS NULL THEN 'complete' ELSE 'open' END AS status,
    t.spans_deleted_at
FROM base.traces AS t
LEFT JOIN base.open_traces AS o ON o.trace_id = t.trace_id
WHERE NOT t.superseded
UNION ALL BY NAME
SELECT
    o.trace_id, 0::INTEGER AS revision, o.first_seq, o.last_seq, o.project, o.service_name,
    o.span_count, o.root_seen AS has_root, 'open' AS status
FROM base.open_traces AS o
WHERE NOT EXISTS (FROM base.traces AS t WHERE t.trace_id = o.trace_id AND NOT t.superseded);

COMMENT ON VIEW main.traces IS 'The current revision of each trace, and traces not finished yet.';
COMMENT ON COLUMN main.traces.status IS 'open: spans arrived that no revision holds yet; else complete.';
COMMENT ON COLUMN main.traces.revision IS 'How often it was finished; 0 while it never was.';
COMMENT ON COLUMN main.traces.completed_by IS 'marker, root_ended, idle or max_age; NULL while open.';
COMMENT ON COLUMN main.traces.has_error IS 'The run itself failed; see error_count for handled errors.';
COMMENT ON COLUMN main.traces.cost_usd IS 'Cost of the calls in it; NULL when unknown.';
COMMENT ON COLUMN main.traces.spans_deleted_at IS 'When retention deleted what had arrived of it (UTC); NULL: it is there.';

-- Deleting of what an end user said and was answered; `user_id` is forgotten when it is done.
CREATE TABLE base.erasures (
    id VARCHAR NOT NULL,
    user_id VARCHAR,
    project VARCHAR,
    requested_at TIMESTAMP_NS NOT NULL,
    finished_at TIMESTAMP_NS,
    state VARCHAR NOT NULL,
    report JSON NOT NULL
);
