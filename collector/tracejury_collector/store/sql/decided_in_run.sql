-- Which of the decisions in `new_decisions` a run has made before.
SELECT d.decision_id
FROM base.decisions AS d
SEMI JOIN new_decisions AS n ON n.decision_id = d.decision_id
WHERE d.run_id = $run_id AND d.decided_at >= make_timestamp_ns($created_at_ns::BIGINT)
