-- Hashes of the rows after seq $1 that came after $2 (nanoseconds).
SELECT high, low
FROM (
    SELECT content_hash_high AS high, content_hash_low AS low
    FROM base.spans
    WHERE seq > $1 AND received_at >= make_timestamp_ns($2)
    UNION ALL
    SELECT content_hash_high, content_hash_low
    FROM base.logs
    WHERE seq > $1 AND received_at >= make_timestamp_ns($2)
)
