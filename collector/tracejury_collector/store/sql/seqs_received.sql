-- The sequence numbers of spans that were received between these times; -1 where there are none.
SELECT coalesce(min(seq), -1), coalesce(max(seq), -1)
FROM base.spans
WHERE
    ($since_ns::BIGINT IS NULL OR received_at >= make_timestamp_ns($since_ns))
    AND ($until_ns::BIGINT IS NULL OR received_at < make_timestamp_ns($until_ns))
