DELETE FROM base.jobs
WHERE
    target_kind = 'session'
    AND target_id IN (SELECT s.target_id FROM superseding_sessions AS s)
