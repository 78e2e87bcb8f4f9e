-- What the view `traces` is made of: current revisions, and open traces, of which those that were
-- finished before are left out of the view. To find these takes a look at all of the history, which
-- is spared where a few traces are asked for.
CREATE VIEW base.current AS
SELECT
    t.trace_id, t.revision, t.first_seq, t.last_seq, t.project, t.service_name, t.name, t.kind,
    t.agent_name, t.session_id, t.user_id, t.start_time, t.end_time, t.latency_ms, t.span_count,
    t.llm_calls, t.tool_calls, t.error_count, t.has_error, t.input, t.output, t.models,
    t.input_tokens, t.output_tokens, t.cache_read_tokens, t.cache_write_tokens,
    t.reasoning_tokens, t.total_tokens, t.cost_usd, t.has_root, t.flags, t.completed_by,
    t.completed_at, 'complete' AS status, t.spans_deleted_at
FROM base.traces AS t
WHERE NOT t.superseded;

-- The same with their status: DuckDB finds the newest of them sooner where nobody asks for it.
CREATE VIEW base.finished AS
SELECT c.* REPLACE (CASE WHEN o.trace_id IS NULL THEN 'complete' ELSE 'open' END AS status)
FROM base.current AS c
LEFT JOIN (SELECT DISTINCT trace_id FROM base.arrivals) AS o ON o.trace_id = c.trace_id;

CREATE VIEW base.begun AS
FROM base.current
WHERE false
UNION ALL BY NAME
SELECT
    o.trace_id, 0::INTEGER AS revision, o.first_seq, o.last_seq, o.project, o.service_name,
    o.span_count, o.root_seen AS has_root, 'open' AS status, o.first_seen
FROM base.open_traces AS o;

CREATE OR REPLACE VIEW main.traces AS
FROM base.finished
UNION ALL BY NAME
SELECT b.* EXCLUDE (first_seen)
FROM base.begun AS b
WHERE NOT EXISTS (FROM base.traces AS t WHERE t.trace_id = b.trace_id AND NOT t.superseded);

COMMENT ON VIEW main.traces IS 'The current revision of each trace, and traces not finished yet.';
