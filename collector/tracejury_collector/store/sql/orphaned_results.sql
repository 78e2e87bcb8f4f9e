-- The decisions of the new results whose job is gone.
SELECT DISTINCT n.decision_id
FROM new_results AS n
ANTI JOIN base.jobs AS j ON j.decision_id = n.decision_id
