-- The chances that live rules gave to the revisions in `former` (target_kind, target_id, revision).
SELECT d.rule_fingerprint, d.target_kind, d.target_id, coalesce(d.stratum, ''), d.probability
FROM base.decisions AS d
JOIN former AS f
    ON d.target_kind = f.target_kind AND d.target_id = f.target_id AND d.revision = f.revision
WHERE
    d.run_id = ''
    AND d.probability IS NOT NULL
    AND d.decided_at BETWEEN make_timestamp_ns($since_ns::BIGINT) AND make_timestamp_ns($until_ns::BIGINT)
