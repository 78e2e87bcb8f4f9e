-- Of these traces (a JSON array of ids), those that were finished at least once.
SELECT DISTINCT t.trace_id
FROM base.traces AS t
WHERE t.trace_id IN (SELECT value ->> '$' FROM json_each($trace_ids))
