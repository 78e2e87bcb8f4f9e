-- The results that an export takes next, in the order of their commits.
WITH chosen AS MATERIALIZED (
    SELECT
        position, decision_id, evaluator, type, fingerprint, criteria_hash, target_kind, target_id,
        trace_id, revision, rule, run_id, outcome, score, verdict,
        left(reason, $characters::BIGINT) AS reason, error_type,
        epoch_ns(created_at) AS created_at_ns, superseded
    FROM base.results
    WHERE
        position > $after::BIGINT
        AND position <= $upto::BIGINT
        AND outcome IN (SELECT value ->> '$' FROM json_each($outcomes::JSON))
        AND (
            $rules::JSON IS NULL
            OR rule IN (SELECT value ->> '$' FROM json_each($rules::JSON))
        )
    ORDER BY position
    LIMIT $limit
)
SELECT
    c.*,
    coalesce(t.project, '') AS project,
    t.session_id,
    t.first_seq,
    t.last_seq
FROM chosen AS c
LEFT JOIN base.traces AS t ON t.trace_id = c.trace_id AND t.revision = c.revision
ORDER BY c.position
