SELECT true
FROM base.session_revisions AS r
SEMI JOIN base.open_sessions AS o ON o.project = r.project AND o.session_id = r.session_id
WHERE NOT r.superseded
LIMIT 1
