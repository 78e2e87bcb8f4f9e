-- The last revision of each of these sessions (a JSON array of target ids), and what it holds.
SELECT
    r.target_id,
    max(r.revision) AS revision,
    epoch_ns(max(r.completed_at)) AS completed_at_ns,
    arg_max(NOT r.superseded, r.revision) AS is_current,
    arg_max(r.traces, r.revision) AS traces,
    arg_max(r.members, r.revision) AS members
FROM base.session_revisions AS r
WHERE r.target_id IN (SELECT value ->> '$' FROM json_each($target_ids))
GROUP BY r.target_id
