-- Whether a label is of a project: it says so, or says none and is on a trace of it.
l.project = $project
OR (
    l.project IS NULL
    AND l.trace_id IN (SELECT t.trace_id FROM main.traces AS t WHERE t.project = $project)
)
