-- Traces whose arrivals were kept long enough, oldest first: up to a sequence number by project
-- ($cutoffs: a JSON array of [project, number]), $default_seq for the others. Traces that are open or
-- wait for the jury are left.
SELECT t.trace_id, t.span_count, t.first_seq
FROM base.traces AS t
LEFT JOIN (
    SELECT value ->> '$[0]' AS project, (value ->> '$[1]')::BIGINT AS seq FROM json_each($cutoffs)
) AS c ON c.project = t.project
ANTI JOIN base.arrivals AS a ON a.trace_id = t.trace_id
ANTI JOIN base.jobs AS j ON j.trace_id = t.trace_id
WHERE
    NOT t.superseded
    AND t.spans_deleted_at IS NULL
    AND t.last_seq < coalesce(c.seq, $default_seq::BIGINT)
ORDER BY t.last_seq
LIMIT $limit
