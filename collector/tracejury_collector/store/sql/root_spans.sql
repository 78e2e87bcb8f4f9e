-- The root span of each of the traces, the first to start where there are several.
SELECT trace_id, arg_min(span_id, (start_time_unix_nano, seq))
FROM base.spans
WHERE
    seq BETWEEN $low AND $high
    AND parent_span_id = ''
    AND trace_id IN (SELECT value ->> '$' FROM json_each($trace_ids::JSON))
GROUP BY trace_id
