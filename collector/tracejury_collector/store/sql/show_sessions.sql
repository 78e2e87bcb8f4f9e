-- Sessions by id (a JSON array of texts), in every project.
SELECT
    session_id, project, epoch_ns(start_time) AS start_time_ns, epoch_ns(end_time) AS end_time_ns,
    duration_ms, traces, runs, span_count, llm_calls, tool_calls, error_count, traces_with_error,
    input_tokens, output_tokens, total_tokens, cost_usd, user_id, user_ids, service_names,
    agent_names, models, left(input, $characters) AS input, left(output, $characters) AS output
FROM base.sessions_of($session_ids)
