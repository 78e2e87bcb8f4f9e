-- The first sequence number that was received at a time or later; above all where there is none.
SELECT coalesce(min(seq), 9223372036854775807) AS seq
FROM (
    SELECT min(seq) AS seq FROM base.spans WHERE received_at >= make_timestamp_ns($at_ns::BIGINT)
    UNION ALL
    SELECT min(seq) FROM base.logs WHERE received_at >= make_timestamp_ns($at_ns::BIGINT)
)
