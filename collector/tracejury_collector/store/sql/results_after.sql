-- The next results, in the order of their commits.
SELECT
    r.position, r.decision_id, r.evaluator, r.type, r.fingerprint, r.criteria_hash, r.target_kind,
    r.target_id, r.trace_id, r.revision, r.rule, r.run_id, r.trigger, r.outcome, r.score, r.verdict,
    r.reason, r.hits, r.misses, r.details::VARCHAR AS details, r.evidence, r.error_type,
    r.error_message, r.duration_ms, r.cost_usd, epoch_ns(r.created_at) AS created_at_ns,
    r.superseded,
    NOT r.superseded
    AND ($evaluator::VARCHAR IS NULL OR r.evaluator = $evaluator)
    AND ($rule::VARCHAR IS NULL OR r.rule = $rule)
    AND ($outcome::VARCHAR IS NULL OR r.outcome = $outcome)
    AND ($verdict::VARCHAR IS NULL OR r.verdict = $verdict) AS is_wanted
FROM base.results AS r
WHERE r.position > $after::BIGINT
ORDER BY r.position
LIMIT $limit
