-- The stable views: what users read. Columns are only ever added.
CREATE VIEW main.spans AS
SELECT
    seq, received_at, trace_id, span_id, parent_span_id, project, service_name, name, kind,
    otel_kind, start_time, end_time, duration_ns, status, status_message, error_type,
    error_message, dialect, session_id, user_id, agent_name, provider, model, operation,
    coalesce(input, attributes ->> input_path) AS input,
    coalesce(output, attributes ->> output_path) AS output,
    tool_name,
    tool_call_id,
    coalesce(tool_arguments, attributes ->> tool_arguments_path) AS tool_arguments,
    coalesce(tool_result, attributes ->> tool_result_path) AS tool_result,
    input_tokens, output_tokens,
    cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd, attributes, events, links,
    resource, scope, resource_schema_url, scope_schema_url, trace_state, flags,
    dropped_attributes_count, dropped_events_count, dropped_links_count, start_time_unix_nano,
    end_time_unix_nano
FROM base.spans;

CREATE VIEW main.logs AS
SELECT
    seq, received_at, trace_id, span_id, project, service_name, event_name, time, observed_time,
    severity_number, severity_text, body, attributes, resource, scope, resource_schema_url,
    scope_schema_url, flags, dropped_attributes_count, time_unix_nano, observed_time_unix_nano
FROM base.logs;

CREATE VIEW main.traces AS
SELECT
    t.trace_id, t.revision, t.first_seq, t.last_seq, t.project, t.service_name, t.name, t.kind,
    t.agent_name, t.session_id, t.user_id, t.start_time, t.end_time, t.latency_ms, t.span_count,
    t.llm_calls, t.tool_calls, t.error_count, t.has_error, t.input, t.output, t.models,
    t.input_tokens, t.output_tokens, t.cache_read_tokens, t.cache_write_tokens,
    t.reasoning_tokens, t.total_tokens, t.cost_usd, t.has_root, t.flags, t.completed_by,
    t.completed_at,
    CASE WHEN o.trace_id IS NULL THEN 'complete' ELSE 'open' END AS status
FROM base.traces AS t
LEFT JOIN base.open_traces AS o ON o.trace_id = t.trace_id
WHERE NOT t.superseded
UNION ALL BY NAME
SELECT
    o.trace_id, 0::INTEGER AS revision, o.first_seq, o.last_seq, o.project, o.service_name,
    o.span_count, o.root_seen AS has_root, 'open' AS status
FROM base.open_traces AS o
WHERE NOT EXISTS (FROM base.traces AS t WHERE t.trace_id = o.trace_id AND NOT t.superseded);

CREATE VIEW main.llm_calls AS SELECT * EXCLUDE (superseded) FROM base.llm_calls WHERE NOT superseded;
CREATE VIEW main.tool_calls AS SELECT * EXCLUDE (superseded) FROM base.tool_calls WHERE NOT superseded;
CREATE VIEW main.messages AS SELECT * EXCLUDE (superseded) FROM base.messages WHERE NOT superseded;
CREATE VIEW main.documents AS SELECT * EXCLUDE (superseded) FROM base.documents WHERE NOT superseded;

CREATE VIEW main.sessions AS
SELECT
    session_id,
    project,
    min(start_time) AS start_time,
    max(end_time) AS end_time,
    count(*) AS traces,
    sum(span_count)::BIGINT AS span_count,
    sum(llm_calls)::BIGINT AS llm_calls,
    sum(tool_calls)::BIGINT AS tool_calls,
    sum(error_count)::BIGINT AS error_count,
    count_if(has_error)::BIGINT AS traces_with_error,
    sum(input_tokens)::BIGINT AS input_tokens,
    sum(output_tokens)::BIGINT AS output_tokens,
    sum(total_tokens)::BIGINT AS total_tokens,
    sum(cost_usd) AS cost_usd,
    max(user_id) AS user_id,
    list_sort(list(DISTINCT service_name)) AS service_names
FROM base.traces
WHERE NOT superseded AND session_id IS NOT NULL
GROUP BY session_id, project;

CREATE VIEW main.scores_history AS
SELECT
    evaluator, type, fingerprint, criteria_hash, case_id, target_kind, target_id, trace_id,
    revision, rule, rule_fingerprint, run_id, trigger, outcome, score, verdict, reason, hits,
    misses, details, evidence, error_type, error_message, duration_ms, cost_usd, input_tokens,
    output_tokens, created_at, superseded
FROM base.results;

CREATE VIEW main.scores AS SELECT * EXCLUDE (superseded) FROM main.scores_history WHERE NOT superseded;

CREATE VIEW main.decisions AS
SELECT
    decision_id, rule, rule_fingerprint, run_id, target_kind, target_id, revision, outcome, reason,
    stratum, probability, evaluators, decided_at
FROM base.decisions;

COMMENT ON VIEW main.spans IS 'Spans as received, with what the dialects made of them.';
COMMENT ON VIEW main.logs IS 'Log records that belong to a trace.';
COMMENT ON VIEW main.traces IS 'The current revision of each trace, and traces not finished yet.';
COMMENT ON VIEW main.llm_calls IS 'Calls of language models in finished traces, in order.';
COMMENT ON VIEW main.tool_calls IS 'Calls of tools in finished traces, in order.';
COMMENT ON VIEW main.messages IS 'Messages of finished traces, in order.';
COMMENT ON VIEW main.documents IS 'Documents that finished traces retrieved, in order.';
COMMENT ON VIEW main.sessions IS 'Finished traces grouped by session and project.';
COMMENT ON VIEW main.scores IS 'What evaluators found on current revisions: score, skip or failure.';
COMMENT ON VIEW main.scores_history IS 'What evaluators found, on superseded revisions as well.';
COMMENT ON VIEW main.decisions IS 'What each rule decided on each finished revision, and why.';
COMMENT ON COLUMN main.spans.seq IS 'Order of arrival, over spans and log records together.';
COMMENT ON COLUMN main.spans.received_at IS 'When the service stored it (UTC).';
COMMENT ON COLUMN main.spans.kind IS 'What the span does: agent, llm, tool, …';
COMMENT ON COLUMN main.spans.otel_kind IS 'The span kind of OpenTelemetry.';
COMMENT ON COLUMN main.spans.dialect IS 'The convention its attributes follow.';
COMMENT ON COLUMN main.spans.input IS 'What went in, as recorded: text, or JSON text.';
COMMENT ON COLUMN main.spans.output IS 'What came out, as recorded: text, or JSON text.';
COMMENT ON COLUMN main.spans.cost_usd IS 'Cost as reported; NULL when unknown.';
COMMENT ON COLUMN main.traces.status IS 'open: spans arrived that no revision holds yet; else complete.';
COMMENT ON COLUMN main.traces.revision IS 'How often it was finished; 0 while it never was.';
COMMENT ON COLUMN main.traces.completed_by IS 'marker, root_ended, idle or max_age; NULL while open.';
COMMENT ON COLUMN main.traces.has_error IS 'The run itself failed; see error_count for handled errors.';
COMMENT ON COLUMN main.traces.cost_usd IS 'Cost of the calls in it; NULL when unknown.';
COMMENT ON COLUMN main.scores.outcome IS 'score, skip (could not be judged) or failure (it crashed).';
COMMENT ON COLUMN main.scores.score IS 'From 0 to 1; NULL unless the outcome is a score.';
COMMENT ON COLUMN main.decisions.probability IS 'The chance with which the sample took this revision.';
