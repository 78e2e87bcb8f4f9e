-- How often evaluators were started on a trace, by decision.
SELECT a.decision_id, a.evaluator, max(a.n) AS attempts
FROM base.attempts AS a
WHERE a.decision_id IN (
    SELECT d.decision_id FROM base.decisions AS d
    WHERE d.target_kind = 'trace' AND d.target_id = $trace_id AND d.outcome = 'selected'
)
GROUP BY ALL
