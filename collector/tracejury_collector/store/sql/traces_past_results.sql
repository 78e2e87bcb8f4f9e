-- Traces whose results were kept long enough: finished before a time by project ($cutoffs: a JSON
-- array of [project, nanoseconds]), $default_ns for the others. Traces that are open or wait for the
-- jury are left.
SELECT t.trace_id, t.span_count, t.first_seq
FROM base.traces AS t
LEFT JOIN (
    SELECT value ->> '$[0]' AS project, (value ->> '$[1]')::BIGINT AS ns FROM json_each($cutoffs)
) AS c ON c.project = t.project
ANTI JOIN base.arrivals AS a ON a.trace_id = t.trace_id
ANTI JOIN base.jobs AS j ON j.trace_id = t.trace_id
WHERE
    NOT t.superseded
    AND t.completed_at < make_timestamp_ns(coalesce(c.ns, $default_ns::BIGINT))
ORDER BY t.completed_at
LIMIT $limit
