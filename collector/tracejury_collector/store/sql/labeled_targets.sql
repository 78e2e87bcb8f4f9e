-- Verdicts of evaluators on current revisions beside those of labels on the same traces, newest
-- label first. The newest label of a name on a trace counts, and the newest result of a version.
WITH labeled AS (
    SELECT
        trace_id, name AS label, arg_max(verdict, (created_at, label_id)) AS truth,
        max(created_at) AS labeled_at
    FROM (
        SELECT
            trace_id, name, created_at, label_id,
            coalesce(
                verdict,
                CASE WHEN score >= 1 THEN 'pass' WHEN score > 0 THEN 'partial' ELSE 'fail' END
            ) AS verdict
        FROM base.labels
        WHERE
            trace_id IS NOT NULL
            AND (verdict IS NOT NULL OR score IS NOT NULL)
            AND ($label IS NULL OR name = $label)
    )
    GROUP BY trace_id, name
),
judged AS (
    SELECT
        r.trace_id, r.evaluator, r.fingerprint, r.criteria_hash,
        coalesce(
            r.verdict,
            CASE WHEN r.score >= 1 THEN 'pass' WHEN r.score > 0 THEN 'partial' ELSE 'fail' END
        ) AS judged,
        r.decision_id
    FROM base.results AS r
    WHERE
        NOT r.superseded
        AND r.outcome = 'score'
        AND r.target_kind = 'trace'
        AND ($evaluator IS NULL OR r.evaluator = $evaluator)
        AND ($since_ns IS NULL OR r.created_at >= make_timestamp_ns($since_ns::BIGINT))
        AND ($until_ns IS NULL OR r.created_at < make_timestamp_ns($until_ns::BIGINT))
        AND r.trace_id IN (SELECT trace_id FROM labeled)
    QUALIFY
        row_number() OVER (
            PARTITION BY r.trace_id, r.evaluator, r.fingerprint, r.criteria_hash
            -- a live result first: its decision says what the trace stands for
            ORDER BY r.run_id = '' DESC, r.created_at DESC, r.decision_id
        ) = 1
)
SELECT
    j.evaluator, j.fingerprint, j.criteria_hash, l.label, j.trace_id, j.judged, l.truth,
    coalesce(
        CASE WHEN d.run_id = '' THEN 1 / (d.probability * coalesce(d.upstream_probability, 1)) END,
        1
    ) AS weight
FROM judged AS j
JOIN labeled AS l ON l.trace_id = j.trace_id
LEFT JOIN base.decisions AS d ON d.decision_id = j.decision_id
ORDER BY j.evaluator, l.label, j.fingerprint, j.criteria_hash, l.labeled_at DESC, j.trace_id
