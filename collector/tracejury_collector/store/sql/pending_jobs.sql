SELECT
    decision_id, epoch_ns(decided_at), rule, rule_fingerprint, run_id, target_kind, target_id,
    trace_id, revision, first_seq, last_seq, evaluators, fingerprints
FROM base.jobs
WHERE
    (run_id <> '') = $of_runs
    AND decided_at >= make_timestamp_ns($decided_at_ns::BIGINT)
    AND (epoch_ns(decided_at) > $decided_at_ns OR decision_id > $decision_id)
ORDER BY decided_at, decision_id
LIMIT $batch
