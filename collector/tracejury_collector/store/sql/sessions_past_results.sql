-- Finished sessions whose results were kept long enough and that have no trace any more; cutoffs as
-- in traces_past_results.
SELECT DISTINCT s.target_id
FROM base.session_revisions AS s
LEFT JOIN (
    SELECT value ->> '$[0]' AS project, (value ->> '$[1]')::BIGINT AS ns FROM json_each($cutoffs)
) AS c ON c.project = s.project
ANTI JOIN base.traces AS t ON t.project = s.project AND t.session_id = s.session_id
ANTI JOIN base.jobs AS j ON j.target_id = s.target_id
WHERE
    NOT s.superseded
    AND s.completed_at < make_timestamp_ns(coalesce(c.ns, $default_ns::BIGINT))
LIMIT $limit
