-- What revisions of sessions hold; `revisions` is JSON: [target id, revision], ...
SELECT r.target_id, r.revision, r.session_id, r.traces, r.members
FROM base.session_revisions AS r
SEMI JOIN (
    SELECT value ->> 0 AS target_id, (value ->> 1)::INTEGER AS revision
    FROM json_each($revisions)
) AS w ON w.target_id = r.target_id AND w.revision = r.revision
