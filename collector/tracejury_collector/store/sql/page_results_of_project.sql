-- Where the results of a page lie that are of a project, newest first.
SELECT f.place
FROM (
    SELECT
        r.rowid AS place, r.target_kind, r.target_id, r.trace_id, r.created_at, r.decision_id,
        r.evaluator
    FROM base.results AS r
    WHERE
        ($superseded OR NOT r.superseded)
        AND ($first_seq::BIGINT IS NULL OR r.first_seq = $first_seq)
        AND ($target_kind::VARCHAR IS NULL OR r.target_kind = $target_kind)
        AND ($trace_id::VARCHAR IS NULL OR r.trace_id = $trace_id)
        AND ($target_id::VARCHAR IS NULL OR r.target_id = $target_id)
        AND ($evaluator::VARCHAR IS NULL OR r.evaluator = $evaluator)
        AND ($rule::VARCHAR IS NULL OR r.rule = $rule)
        AND ($outcome::VARCHAR IS NULL OR r.outcome = $outcome)
        AND ($verdict::VARCHAR IS NULL OR r.verdict = $verdict)
        AND ($since_ns::BIGINT IS NULL OR r.created_at >= make_timestamp_ns($since_ns))
        AND (
            $before_ns::BIGINT IS NULL
            OR (r.created_at, r.decision_id, r.evaluator)
                < (
                    make_timestamp_ns($before_ns), $before_decision::VARCHAR,
                    $before_evaluator::VARCHAR
                )
        )
) AS f
LEFT JOIN (FROM base.traces WHERE NOT superseded AND project = $project) AS t
    ON t.trace_id = f.trace_id
WHERE
    t.trace_id IS NOT NULL
    OR (f.target_kind = 'session' AND starts_with(f.target_id, $session_prefix))
ORDER BY f.created_at DESC, f.decision_id DESC, f.evaluator DESC
LIMIT $limit
