UPDATE base.results SET superseded = true
WHERE
    NOT superseded
    AND target_kind = 'session'
    AND target_id IN (SELECT s.target_id FROM superseding_sessions AS s)
