-- Which traces of `closing` may be finished: nothing else arrived, or that does not matter (forced).
SELECT c.trace_id
FROM closing AS c
JOIN base.open_traces AS o ON o.trace_id = c.trace_id
WHERE o.last_seq = c.last_seq OR c.forced
