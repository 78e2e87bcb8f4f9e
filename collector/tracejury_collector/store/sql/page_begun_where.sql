-- Where the newest open traces begin that match; `true` is replaced by the caller's condition,
-- which was checked.
SELECT w.first_seq
FROM (SELECT traces.* FROM base.begun AS traces WHERE (true)) AS w
WHERE
    ($project::VARCHAR IS NULL OR w.project = $project)
    AND ($service::VARCHAR IS NULL OR w.service_name = $service)
    AND ($since_ns::BIGINT IS NULL OR w.first_seen >= make_timestamp_ns($since_ns))
    AND ($until_ns::BIGINT IS NULL OR w.first_seen < make_timestamp_ns($until_ns))
    AND ($before_seq::BIGINT IS NULL OR w.first_seq < $before_seq)
ORDER BY w.first_seq DESC
LIMIT $limit
