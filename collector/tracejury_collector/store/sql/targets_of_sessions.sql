-- What was made of sessions (a JSON array of [project, session id]) to be judged as a whole.
SELECT DISTINCT s.target_id
FROM base.session_revisions AS s
JOIN json_each($sessions) AS j
    ON s.project = (j.value ->> '$[0]') AND s.session_id = (j.value ->> '$[1]')
