-- One page of traces, newest arrival first; `true` is replaced by the caller's checked condition.
-- The page is chosen over narrow columns before the wide ones are read.
WITH page AS MATERIALIZED (
    SELECT w.trace_id, w.first_seq, o.first_seen
    FROM (SELECT traces.* FROM main.traces AS traces WHERE (true)) AS w
    LEFT JOIN base.open_traces AS o ON o.trace_id = w.trace_id
    WHERE
        ($service::VARCHAR IS NULL OR w.service_name = $service)
        AND ($session_id::VARCHAR IS NULL OR w.session_id = $session_id)
        AND ($since_ns::BIGINT IS NULL
            OR coalesce(w.start_time, o.first_seen) >= make_timestamp_ns($since_ns))
        AND ($until_ns::BIGINT IS NULL
            OR coalesce(w.start_time, o.first_seen) < make_timestamp_ns($until_ns))
        AND ($before_seq::BIGINT IS NULL OR w.first_seq < $before_seq)
    ORDER BY w.first_seq DESC
    LIMIT $limit
)
SELECT
    t.trace_id, t.revision, t.status, t.completed_by, t.name, t.kind, t.project, t.service_name,
    t.agent_name, t.session_id, t.user_id, t.first_seq,
    epoch_ns(coalesce(t.start_time, page.first_seen)) AS start_time_ns, t.latency_ms,
    t.span_count, t.llm_calls, t.tool_calls, t.error_count, t.has_error, t.models,
    t.input_tokens, t.output_tokens, t.total_tokens, t.cost_usd, left(t.input, 500) AS input,
    left(t.output, 500) AS output
FROM page
JOIN main.traces AS t ON t.trace_id = page.trace_id AND t.first_seq = page.first_seq
ORDER BY t.first_seq DESC
