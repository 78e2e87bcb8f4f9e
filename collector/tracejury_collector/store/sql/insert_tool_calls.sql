INSERT INTO base.tool_calls BY NAME SELECT * FROM new_tool_calls
