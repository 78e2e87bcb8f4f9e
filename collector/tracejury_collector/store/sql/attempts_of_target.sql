-- How often evaluators were started on a trace or session, by decision.
SELECT a.decision_id, a.evaluator, max(a.n) AS attempts
FROM base.attempts AS a
WHERE a.decision_id IN (
    SELECT d.decision_id FROM base.decisions AS d
    WHERE d.target_kind = $target_kind AND d.target_id = $target_id AND d.outcome = 'selected'
)
GROUP BY ALL
