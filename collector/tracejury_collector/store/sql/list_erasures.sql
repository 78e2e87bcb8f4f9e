-- The newest erasures, or one of them.
SELECT
    id, user_id, project, epoch_ns(requested_at) AS requested_at_ns,
    epoch_ns(finished_at) AS finished_at_ns, state, report
FROM base.erasures
WHERE ($id IS NULL OR id = $id) AND ($state IS NULL OR state = $state)
ORDER BY requested_at DESC
LIMIT 100
