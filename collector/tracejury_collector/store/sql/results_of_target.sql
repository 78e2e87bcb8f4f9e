-- The results on a trace or session.
SELECT
    r.decision_id, r.evaluator, r.type, r.fingerprint, r.criteria_hash, r.target_kind, r.target_id, r.trace_id,
    r.revision, r.rule, r.run_id, r.trigger, r.outcome, r.score, r.verdict, r.reason, r.hits, r.misses,
    r.details::VARCHAR AS details, r.evidence, r.error_type, r.error_message, r.duration_ms,
    r.cost_usd, epoch_ns(r.created_at) AS created_at_ns, r.superseded
FROM base.results AS r
WHERE
    r.target_kind = $target_kind
    AND r.target_id = $target_id
    AND ($first_seq::BIGINT IS NULL OR r.first_seq = $first_seq)
