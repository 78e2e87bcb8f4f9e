-- Of these traces (JSON), those whose every span and log record is there and of one project.
SELECT a.trace_id
FROM (
    SELECT trace_id, project FROM base.spans
    WHERE
        seq BETWEEN $low AND $high
        AND trace_id IN (SELECT value ->> '$' FROM json_each($trace_ids))
    UNION ALL
    SELECT trace_id, project FROM base.logs
    WHERE
        seq BETWEEN $low AND $high
        AND trace_id IN (SELECT value ->> '$' FROM json_each($trace_ids))
) AS a
GROUP BY a.trace_id
HAVING bool_and(a.project = $project)
