-- Forget the news that a finished session holds.
DELETE FROM base.open_sessions AS o
USING closing_sessions AS c
WHERE
    o.project = c.project
    AND o.session_id = c.session_id
    AND epoch_ns(o.last_seen) <= c.last_seen_ns
