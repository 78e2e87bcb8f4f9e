-- Where that of a trace lies which no revision holds yet.
SELECT min(first_seq) AS first_seq, max(last_seq) AS last_seq
FROM base.arrivals
WHERE trace_id = $trace_id
