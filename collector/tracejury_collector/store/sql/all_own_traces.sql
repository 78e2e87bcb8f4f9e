-- The traces whose every span and log record is there and of one project, in all of history.
SELECT a.trace_id
FROM (
    SELECT trace_id, project FROM base.spans
    UNION ALL
    SELECT trace_id, project FROM base.logs
) AS a
GROUP BY a.trace_id
HAVING bool_and(a.project = $project)
