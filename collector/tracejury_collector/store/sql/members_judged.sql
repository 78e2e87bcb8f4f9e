-- The traces that were judged as these sessions' revisions (JSON, [target, revision] each).
SELECT r.target_id || '#' || r.revision AS target, m.trace_id
FROM base.session_revisions AS r, unnest(r.members) AS u (m)
WHERE
    (r.target_id, r.revision) IN (
        SELECT j.value ->> '$[0]', (j.value ->> '$[1]')::INTEGER
        FROM json_each($revisions::JSON) AS j
    )
