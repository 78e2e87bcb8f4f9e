-- One page of results, newest first. `true` is replaced by what chooses by project.
SELECT
    r.decision_id, r.evaluator, r.type, r.fingerprint, r.criteria_hash, r.target_kind, r.target_id, r.trace_id,
    r.revision, r.rule, r.run_id, r.trigger, r.outcome, r.score, r.verdict, r.reason, r.hits, r.misses,
    r.details::VARCHAR AS details, r.evidence, r.error_type, r.error_message, r.duration_ms,
    r.cost_usd, epoch_ns(r.created_at) AS created_at_ns, r.superseded
FROM base.results AS r
WHERE
    ($superseded OR NOT r.superseded)
    AND (true)
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
            < (make_timestamp_ns($before_ns), $before_decision::VARCHAR, $before_evaluator::VARCHAR)
    )
ORDER BY r.created_at DESC, r.decision_id DESC, r.evaluator DESC
LIMIT $limit
