-- Store the rows of the Arrow table `batch`.
INSERT INTO base.spans (
    seq, received_at, trace_id, span_id, parent_span_id, project, service_name, name, kind,
    otel_kind, start_time, end_time, duration_ns, status, status_message, error_type,
    error_message, dialect, session_id, user_id, agent_name, provider, model, operation, input,
    output, tool_name, tool_call_id, tool_arguments, tool_result, input_path, output_path,
    tool_arguments_path, tool_result_path, input_tokens, output_tokens, cache_read_tokens,
    cache_write_tokens, reasoning_tokens, cost_usd, attributes, events, links,
    resource, scope, resource_schema_url, scope_schema_url, trace_state, flags,
    dropped_attributes_count, dropped_events_count, dropped_links_count, start_time_unix_nano,
    end_time_unix_nano, content_hash_high, content_hash_low
)
SELECT
    seq, received_at, trace_id, span_id, parent_span_id, project, service_name, name, kind,
    otel_kind, start_time, end_time, duration_ns, status, status_message, error_type,
    error_message, dialect, session_id, user_id, agent_name, provider, model, operation, input,
    output, tool_name, tool_call_id, tool_arguments, tool_result, input_path, output_path,
    tool_arguments_path, tool_result_path, input_tokens, output_tokens, cache_read_tokens,
    cache_write_tokens, reasoning_tokens, cost_usd, attributes, events, links,
    resource, scope, resource_schema_url, scope_schema_url, trace_state, flags,
    dropped_attributes_count, dropped_events_count, dropped_links_count, start_time_unix_nano,
    end_time_unix_nano, content_hash_high, content_hash_low
FROM batch
