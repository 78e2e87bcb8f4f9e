-- Those of these traces (JSON) whose current revision is of a project.
SELECT t.trace_id
FROM base.traces AS t
WHERE
    NOT t.superseded
    AND t.project = $project
    AND t.trace_id IN (SELECT j.value ->> '$' FROM json_each($trace_ids::JSON) AS j)
