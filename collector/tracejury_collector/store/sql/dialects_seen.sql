SELECT coalesce(dialect, '') AS dialect, count(*) AS spans, epoch_ns(max(received_at)) AS last_seen_ns
FROM base.spans
WHERE seq > (SELECT coalesce(max(seq), 0) FROM base.spans) - $records
GROUP BY ALL
