-- Where the newest current revisions begin.
SELECT w.first_seq
FROM base.traces AS w
WHERE
    NOT w.superseded
    AND ($project::VARCHAR IS NULL OR w.project = $project)
    AND ($service::VARCHAR IS NULL OR w.service_name = $service)
    AND ($session_id::VARCHAR IS NULL OR w.session_id = $session_id)
    AND ($since_ns::BIGINT IS NULL OR w.start_time >= make_timestamp_ns($since_ns))
    AND ($until_ns::BIGINT IS NULL OR w.start_time < make_timestamp_ns($until_ns))
    AND ($before_seq::BIGINT IS NULL OR w.first_seq < $before_seq)
ORDER BY w.first_seq DESC
LIMIT $limit
