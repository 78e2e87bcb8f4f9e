-- The sessions for which a condition holds; `true` is replaced by it, checked.
SELECT session_id, project FROM (SELECT sessions.* FROM main.sessions AS sessions WHERE (true))
