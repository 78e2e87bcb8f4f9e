-- The last revisions of sessions, by target id (a JSON array).
SELECT target_id, max(revision) AS revision, epoch_ns(max(completed_at)) AS completed_at_ns
FROM base.session_revisions
WHERE target_id IN (SELECT value ->> '$' FROM json_each($target_ids))
GROUP BY target_id
