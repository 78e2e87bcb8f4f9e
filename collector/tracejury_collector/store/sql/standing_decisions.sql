-- Those of the decisions in `asked` (decision_id), none older than a time, that are there.
SELECT d.decision_id
FROM base.decisions AS d
SEMI JOIN asked AS a ON a.decision_id = d.decision_id
WHERE d.decided_at >= make_timestamp_ns(?::BIGINT)
