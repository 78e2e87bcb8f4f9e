-- Spans between these sequence numbers: what they carry, then their canonical columns.
SELECT
    s.seq, s.trace_id, s.name, s.otel_kind, s.attributes::VARCHAR AS attributes,
    s.events::VARCHAR AS events, s.resource::VARCHAR AS resource, s.scope::VARCHAR AS scope,
    s.kind, s.error_type, s.error_message, s.dialect, s.session_id, s.user_id, s.agent_name,
    s.provider, s.model, s.operation, s.input, s.output, s.tool_name, s.tool_call_id,
    s.tool_arguments, s.tool_result, s.input_path, s.output_path, s.tool_arguments_path,
    s.tool_result_path, s.input_tokens, s.output_tokens, s.cache_read_tokens,
    s.cache_write_tokens, s.reasoning_tokens, s.cost_usd
FROM base.spans AS s
WHERE s.seq BETWEEN $first_seq AND $last_seq
ORDER BY s.seq
