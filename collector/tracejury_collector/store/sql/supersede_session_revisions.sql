UPDATE base.session_revisions SET superseded = true
WHERE NOT superseded AND target_id IN (SELECT s.target_id FROM superseding_sessions AS s)
