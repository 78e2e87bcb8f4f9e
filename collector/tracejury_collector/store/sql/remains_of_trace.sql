-- What is left of a trace when what had arrived of it was deleted.
SELECT
    name, kind, coalesce(agent_name, '') AS agent_name, service_name,
    coalesce(session_id, '') AS session_id, coalesce(user_id, '') AS user_id,
    epoch_ns(start_time) AS start_time_ns, epoch_ns(end_time) AS end_time_ns, latency_ms,
    has_error, error_count, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
    reasoning_tokens, total_tokens, cost_usd, models, flags
FROM base.traces
WHERE id_key = base.id_key($trace_id) AND trace_id = $trace_id AND NOT superseded
