-- How often evaluators were started for these decisions (a JSON array), in this time.
SELECT a.decision_id, a.evaluator, max(a.n) AS attempts
FROM base.attempts AS a
WHERE
    a.decision_id IN (SELECT value ->> '$' FROM json_each($decision_ids))
    AND a.started_at >= make_timestamp_ns($since_ns::BIGINT)
    AND ($until_ns::BIGINT IS NULL OR a.started_at <= make_timestamp_ns($until_ns))
GROUP BY ALL
