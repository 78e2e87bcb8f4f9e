-- Sessions (a JSON array of [project, session id]) without any trace are not finished any more.
DELETE FROM base.open_sessions AS o
WHERE
    EXISTS (
        SELECT 1 FROM json_each($sessions) AS j
        WHERE (j.value ->> '$[0]') = o.project AND (j.value ->> '$[1]') = o.session_id
    )
    AND NOT EXISTS (
        FROM base.traces AS t WHERE t.project = o.project AND t.session_id = o.session_id
    )
