-- Where the arrivals of traces (JSON) lie: those of their current revision, and later ones.
SELECT trace_id, min(first_seq) AS first_seq, max(last_seq) AS last_seq
FROM (
    SELECT trace_id, first_seq, last_seq FROM base.traces WHERE NOT superseded
    UNION ALL
    SELECT trace_id, first_seq, last_seq FROM base.arrivals
)
WHERE trace_id IN (SELECT j.value ->> '$' FROM json_each($trace_ids::JSON) AS j)
GROUP BY trace_id
