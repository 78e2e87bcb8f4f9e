-- The version of an evaluator that judged last, other than this one.
SELECT r.fingerprint
FROM base.results AS r
WHERE
    r.evaluator = $evaluator AND r.type = $type AND r.fingerprint <> $fingerprint
    AND r.outcome = 'score'
ORDER BY r.created_at DESC
LIMIT 1
