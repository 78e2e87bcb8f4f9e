-- What the view `sessions` says of these (a JSON array of ids), in every project.
FROM base.sessions_of($session_ids)
