UPDATE base.tool_calls SET superseded = true
WHERE NOT superseded AND trace_id IN (SELECT s.trace_id FROM superseding AS s)
