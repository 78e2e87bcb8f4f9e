SELECT t.trace_id
FROM base.traces AS t
SEMI JOIN wanted_traces AS w ON w.trace_id = t.trace_id
WHERE NOT t.superseded
