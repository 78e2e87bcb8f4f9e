SELECT r.decision_id, r.evaluator
FROM base.results AS r
SEMI JOIN wanted_jobs AS w ON w.decision_id = r.decision_id
WHERE r.created_at >= make_timestamp_ns(?::BIGINT)
