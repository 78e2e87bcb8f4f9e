-- Which of these sessions (a JSON array of ids) have news that no revision holds.
SELECT o.project, o.session_id
FROM base.open_sessions AS o
WHERE o.session_id IN (SELECT value ->> '$' FROM json_each($session_ids))
