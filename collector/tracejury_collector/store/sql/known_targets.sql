-- Which ids of traces and sessions in the two JSON lists something has arrived of.
SELECT trace_id FROM base.traces
WHERE
    id_key IN (SELECT base.id_key(value ->> '$') FROM json_each($traces))
    AND trace_id IN (SELECT value ->> '$' FROM json_each($traces))
UNION
SELECT trace_id FROM base.arrivals
WHERE trace_id IN (SELECT value ->> '$' FROM json_each($traces))
UNION
SELECT session_id FROM base.traces
WHERE session_id IN (SELECT value ->> '$' FROM json_each($sessions))
