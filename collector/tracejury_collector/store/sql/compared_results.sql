-- What two evaluators last said of each revision that a run selected; NULL where one said nothing.
SELECT
    d.target_id,
    d.revision,
    arg_max(r.outcome, r.created_at) FILTER (r.identity = $evaluator) AS outcome,
    arg_max(coalesce(r.verdict, ''), r.created_at) FILTER (r.identity = $evaluator) AS verdict,
    arg_max(coalesce(r.score, -1), r.created_at) FILTER (r.identity = $evaluator) AS score,
    arg_max(left(r.reason, 200), r.created_at) FILTER (r.identity = $evaluator) AS reason,
    arg_max(r.outcome, r.created_at) FILTER (r.identity = $candidate) AS new_outcome,
    arg_max(coalesce(r.verdict, ''), r.created_at) FILTER (r.identity = $candidate) AS new_verdict,
    arg_max(coalesce(r.score, -1), r.created_at) FILTER (r.identity = $candidate) AS new_score,
    arg_max(left(r.reason, 200), r.created_at) FILTER (r.identity = $candidate) AS new_reason
FROM base.decisions AS d
JOIN (
    SELECT
        *, concat_ws('+', fingerprint, nullif(criteria_hash, '')) AS identity
    FROM base.results
    WHERE fingerprint IN (split_part($evaluator, '+', 1), split_part($candidate, '+', 1))
) AS r
    ON r.target_id = d.target_id AND r.revision = d.revision AND r.target_kind = d.target_kind
WHERE
    d.run_id = $run_id
    AND d.outcome = 'selected'
    AND d.decided_at >= make_timestamp_ns($created_at_ns::BIGINT)
GROUP BY d.target_id, d.revision
ORDER BY d.target_id
LIMIT 100000
