-- How many traces a run looks at, and where the newest of them begins; open ones that were never
-- finished are not among them.
SELECT count(*) AS targets, coalesce(max(t.first_seq), -1) AS newest_seq
FROM base.traces AS t
WHERE
    NOT t.superseded
    AND t.spans_deleted_at IS NULL
    AND t.first_seq < $before_seq::BIGINT
    AND t.first_seq >= $from_seq::BIGINT
    AND ($since_ns::BIGINT IS NULL
        OR coalesce(t.start_time, t.completed_at) >= make_timestamp_ns($since_ns))
    AND ($until_ns::BIGINT IS NULL
        OR coalesce(t.start_time, t.completed_at) < make_timestamp_ns($until_ns))
    AND (
        $trace_ids::JSON IS NULL
        OR t.trace_id IN (SELECT j.value ->> '$' FROM json_each($trace_ids::JSON) AS j)
    )
