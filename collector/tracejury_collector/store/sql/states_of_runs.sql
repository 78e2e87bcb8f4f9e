-- How runs stand, by id (a JSON array of texts).
SELECT run_id, state
FROM base.runs
WHERE run_id IN (SELECT value ->> '$' FROM json_each($run_ids))
