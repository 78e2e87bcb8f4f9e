-- Which of the traces `revised` are open.
SELECT r.trace_id FROM revised AS r SEMI JOIN base.open_traces AS o ON o.trace_id = r.trace_id
