-- Labels about sessions (a JSON array of [project, session id]) as a whole.
DELETE FROM base.labels AS l
WHERE
    l.trace_id IS NULL
    AND EXISTS (
        SELECT 1 FROM json_each($sessions) AS j
        WHERE
            (j.value ->> '$[1]') = l.session_id
            AND coalesce(l.project, (j.value ->> '$[0]')) = (j.value ->> '$[0]')
    )
