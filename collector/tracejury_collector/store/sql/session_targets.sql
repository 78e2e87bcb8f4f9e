-- What the view `sessions` says of these (a JSON array of ids), where `true`, replaced by the
-- caller's condition, which was checked, holds.
SELECT sessions.* FROM base.sessions_of($session_ids) AS sessions WHERE (true)
