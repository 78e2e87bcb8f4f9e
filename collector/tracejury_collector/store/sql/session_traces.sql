-- Where the traces of a session begin, the latest start first.
SELECT first_seq
FROM base.traces
WHERE NOT superseded AND session_id = $session_id AND project = $project
ORDER BY start_time DESC NULLS LAST, first_seq DESC
LIMIT $limit
