-- How many of these revisions of traces are the current ones of their sessions.
SELECT count(*)
FROM base.traces AS t
JOIN wanted_members AS w
    ON w.trace_id = t.trace_id
    AND w.revision = t.revision
    AND w.project = t.project
    AND w.session_id = t.session_id
WHERE NOT t.superseded
