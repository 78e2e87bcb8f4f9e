SELECT
    scope, key, spans, example,
    epoch_ns(first_seen) AS first_seen_ns,
    epoch_ns(last_seen) AS last_seen_ns
FROM base.unread
ORDER BY spans DESC, scope, key
