-- Give spans the canonical columns of the Arrow table `renormalized`.
UPDATE base.spans AS s SET
    kind = n.kind, error_type = n.error_type, error_message = n.error_message, dialect =
    n.dialect, session_id = n.session_id, user_id = n.user_id, agent_name = n.agent_name,
    provider = n.provider, model = n.model, operation = n.operation, input = n.input, output =
    n.output, tool_name = n.tool_name, tool_call_id = n.tool_call_id, tool_arguments =
    n.tool_arguments, tool_result = n.tool_result, input_path = n.input_path, output_path =
    n.output_path, tool_arguments_path = n.tool_arguments_path, tool_result_path =
    n.tool_result_path, input_tokens = n.input_tokens, output_tokens = n.output_tokens,
    cache_read_tokens = n.cache_read_tokens, cache_write_tokens = n.cache_write_tokens,
    reasoning_tokens = n.reasoning_tokens, cost_usd = n.cost_usd
FROM renormalized AS n
WHERE s.seq = n.seq AND s.seq BETWEEN $first_seq AND $last_seq
