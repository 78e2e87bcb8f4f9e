-- Current revisions that begin in between, in any order; their starts are NULL where they say none.
SELECT
    t.trace_id, t.revision, 'complete' AS status, t.completed_by, t.name, t.kind, t.project,
    t.service_name, t.agent_name, t.session_id, t.user_id, t.first_seq, t.last_seq,
    epoch_ns(t.start_time) AS start_time_ns, t.latency_ms, t.span_count, t.llm_calls,
    t.tool_calls, t.error_count, t.has_error, t.models, t.input_tokens, t.output_tokens,
    t.total_tokens, t.cost_usd, left(t.input, $characters) AS input,
    left(t.output, $characters) AS output, epoch_ns(t.spans_deleted_at) AS spans_deleted_at_ns
FROM base.traces AS t
WHERE NOT t.superseded AND t.first_seq BETWEEN $low AND $high AND (true)
