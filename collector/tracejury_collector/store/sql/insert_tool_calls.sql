INSERT INTO base.tool_calls BY NAME
SELECT n.* FROM new_tool_calls AS n SEMI JOIN kept AS k ON k.trace_id = n.trace_id
