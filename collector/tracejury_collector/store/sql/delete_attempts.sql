DELETE FROM base.attempts AS a
USING void_attempts AS v
WHERE a.decision_id = v.decision_id AND a.evaluator = v.evaluator AND a.n = v.n
