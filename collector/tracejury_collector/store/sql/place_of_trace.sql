-- Where a trace that was finished begins.
SELECT first_seq
FROM base.traces
WHERE id_key = base.id_key($trace_id) AND trace_id = $trace_id
LIMIT 1
