SELECT a.decision_id, a.evaluator, max(a.n)
FROM base.attempts AS a
SEMI JOIN wanted_jobs AS w ON w.decision_id = a.decision_id
WHERE a.started_at >= make_timestamp_ns(?::BIGINT)
GROUP BY ALL
