-- Where the next traces of a run begin, newest first.
SELECT t.first_seq
FROM base.traces AS t
WHERE
    NOT t.superseded
    AND t.spans_deleted_at IS NULL
    AND t.first_seq >= $low_seq::BIGINT
    AND t.first_seq < $before_seq::BIGINT
    AND ($since_ns::BIGINT IS NULL
        OR coalesce(t.start_time, t.completed_at) >= make_timestamp_ns($since_ns))
    AND ($until_ns::BIGINT IS NULL
        OR coalesce(t.start_time, t.completed_at) < make_timestamp_ns($until_ns))
    AND (
        $trace_ids::JSON IS NULL
        OR t.trace_id IN (SELECT j.value ->> '$' FROM json_each($trace_ids::JSON) AS j)
    )
ORDER BY t.first_seq DESC
LIMIT $limit
