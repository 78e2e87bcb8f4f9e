-- Current revisions by where they begin (a JSON array of numbers).
SELECT
    t.trace_id, t.revision, CASE WHEN o.trace_id IS NULL THEN 'complete' ELSE 'open' END AS status,
    t.completed_by, t.name, t.kind, t.project, t.service_name, t.agent_name, t.session_id,
    t.user_id, t.first_seq, t.last_seq,
    epoch_ns(coalesce(t.start_time, o.first_seen)) AS start_time_ns, t.latency_ms,
    t.span_count, t.llm_calls, t.tool_calls, t.error_count, t.has_error, t.models,
    t.input_tokens, t.output_tokens, t.total_tokens, t.cost_usd, left(t.input, $characters) AS input,
    left(t.output, $characters) AS output,
    epoch_ns(t.spans_deleted_at) AS spans_deleted_at_ns
FROM base.traces AS t
LEFT JOIN (
    SELECT trace_id, min(seen) AS first_seen FROM base.arrivals GROUP BY trace_id
) AS o ON o.trace_id = t.trace_id
WHERE
    NOT t.superseded
    AND t.first_seq BETWEEN $low AND $high
    AND t.first_seq IN (SELECT value::BIGINT FROM json_each($first_seqs))
