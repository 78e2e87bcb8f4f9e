-- The finished traces of these sessions (JSON) in a project.
SELECT session_id AS target, trace_id
FROM base.traces
WHERE
    NOT superseded
    AND project = $project
    AND session_id IN (SELECT j.value ->> '$' FROM json_each($sessions::JSON) AS j)
