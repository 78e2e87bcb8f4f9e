-- Note that open traces (a JSON array of ids) were brought in from a file: those without an ended root
-- get a row that says so by a root that has ended and was not seen.
INSERT INTO base.arrivals (
    trace_id, project, service_name, seen, first_seq, last_seq, root_seen, root_ended,
    marker_seen, span_count
)
SELECT
    a.trace_id,
    arg_min(a.project, a.first_seq),
    arg_min(a.service_name, a.first_seq),
    max(a.seen),
    min(a.first_seq),
    max(a.last_seq),
    false,
    true,
    false,
    0
FROM base.arrivals AS a
WHERE a.trace_id IN (SELECT j.value ->> '$' FROM json_each($ids) AS j)
GROUP BY a.trace_id
HAVING NOT bool_or(a.root_ended)
