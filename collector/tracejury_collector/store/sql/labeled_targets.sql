-- Verdicts of evaluators on current revisions beside those of labels on the same traces or sessions,
-- newest label first. The newest label of a name on a target counts, and the newest result of a version.
WITH said AS (
    SELECT
        trace_id, session_id, project, name AS label, created_at, label_id,
        coalesce(
            verdict,
            CASE WHEN score >= 1 THEN 'pass' WHEN score > 0 THEN 'partial' ELSE 'fail' END
        ) AS verdict
    FROM base.labels
    WHERE
        (verdict IS NOT NULL OR score IS NOT NULL) AND ($label IS NULL OR name = $label)
),
labeled AS (
    SELECT
        target_kind, target_id, shown, label, arg_max(verdict, (created_at, label_id)) AS truth,
        max(created_at) AS labeled_at
    FROM (
        SELECT 'trace' AS target_kind, trace_id AS target_id, trace_id AS shown, *
        FROM said
        WHERE trace_id IS NOT NULL
        UNION ALL
        SELECT 'session', s.target_id, s.session_id, said.*
        FROM said
        JOIN base.session_revisions AS s
            ON s.session_id = said.session_id
            AND NOT s.superseded
            AND (said.project IS NULL OR said.project = s.project)
        WHERE said.trace_id IS NULL
    )
    GROUP BY target_kind, target_id, shown, label
),
judged AS (
    SELECT
        r.target_kind, r.target_id, r.evaluator, r.fingerprint, r.criteria_hash,
        coalesce(
            r.verdict,
            CASE WHEN r.score >= 1 THEN 'pass' WHEN r.score > 0 THEN 'partial' ELSE 'fail' END
        ) AS judged,
        r.decision_id
    FROM base.results AS r
    WHERE
        NOT r.superseded
        AND r.outcome = 'score'
        AND ($evaluator IS NULL OR r.evaluator = $evaluator)
        AND ($since_ns IS NULL OR r.created_at >= make_timestamp_ns($since_ns::BIGINT))
        AND ($until_ns IS NULL OR r.created_at < make_timestamp_ns($until_ns::BIGINT))
        AND r.target_id IN (SELECT target_id FROM labeled)
    QUALIFY
        row_number() OVER (
            PARTITION BY
                r.target_kind, r.target_id, r.evaluator, r.fingerprint, r.criteria_hash
            -- a live result first: its decision says what the target stands for
            ORDER BY r.run_id = '' DESC, r.created_at DESC, r.decision_id
        ) = 1
)
SELECT
    j.evaluator, j.fingerprint, j.criteria_hash, l.label, l.shown AS target_id, j.judged, l.truth,
    coalesce(
        CASE WHEN d.run_id = '' THEN 1 / (d.probability * coalesce(d.upstream_probability, 1)) END,
        1
    ) AS weight
FROM judged AS j
JOIN labeled AS l ON l.target_kind = j.target_kind AND l.target_id = j.target_id
LEFT JOIN base.decisions AS d ON d.decision_id = j.decision_id
ORDER BY j.evaluator, l.label, j.fingerprint, j.criteria_hash, l.labeled_at DESC, l.shown
