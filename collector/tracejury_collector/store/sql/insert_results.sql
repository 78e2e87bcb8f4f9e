-- One result per decision, fingerprint and criteria; a result whose job is gone came too late.
INSERT INTO base.results BY NAME
SELECT n.*, j.decision_id IS NULL AS superseded
FROM new_results AS n
LEFT JOIN base.jobs AS j ON j.decision_id = n.decision_id
ANTI JOIN (
    SELECT decision_id, fingerprint, criteria_hash
    FROM base.results
    WHERE created_at >= make_timestamp_ns(?::BIGINT)
) AS r
    ON r.decision_id = n.decision_id
    AND r.fingerprint = n.fingerprint
    AND r.criteria_hash = n.criteria_hash
