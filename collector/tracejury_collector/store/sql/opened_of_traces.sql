-- Which of the traces (a JSON array of texts) are open, and since when.
SELECT trace_id, epoch_ns(min(seen)) AS first_seen_ns
FROM base.arrivals
WHERE trace_id IN (SELECT value ->> '$' FROM json_each($trace_ids))
GROUP BY trace_id
