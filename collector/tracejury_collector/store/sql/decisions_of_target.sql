-- What the rules decided on a trace or session.
SELECT
    d.decision_id, d.rule, d.rule_fingerprint, d.revision, d.outcome, d.reason, d.stratum,
    d.probability, d.sampled_by, d.upstream_probability, d.evaluators, d.run_id,
    epoch_ns(d.decided_at) AS decided_at_ns
FROM base.decisions AS d
WHERE
    d.target_kind = $target_kind
    AND d.target_id = $target_id
    AND ($first_seq::BIGINT IS NULL OR d.first_seq = $first_seq)
