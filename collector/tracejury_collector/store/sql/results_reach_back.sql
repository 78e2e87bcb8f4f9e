-- How far back the newest results before a moment reach, as many as are asked for.
SELECT epoch_ns(min(created_at))
FROM (
    SELECT created_at FROM base.results
    WHERE $before_ns::BIGINT IS NULL OR created_at <= make_timestamp_ns($before_ns)
    ORDER BY created_at DESC
    LIMIT $results
)
