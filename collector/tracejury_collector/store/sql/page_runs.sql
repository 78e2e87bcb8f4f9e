-- One page of runs, newest first.
SELECT
    run_id, epoch_ns(created_at) AS created_at_ns, epoch_ns(finished_at) AS finished_at_ns, state,
    rule, plan::VARCHAR AS plan, before_seq, targets, counts::VARCHAR AS counts, error
FROM base.runs
WHERE
    ($state::VARCHAR IS NULL OR state = $state)
    AND ($rule::VARCHAR IS NULL OR rule = $rule)
    AND (
        $before_ns::BIGINT IS NULL
        OR (created_at, run_id) < (make_timestamp_ns($before_ns), $before_run::VARCHAR)
    )
ORDER BY created_at DESC, run_id DESC
LIMIT $limit
