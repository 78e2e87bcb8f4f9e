-- Only decisions that still wait for results are attempted.
INSERT INTO base.attempts BY NAME
SELECT n.* FROM new_attempts AS n SEMI JOIN base.jobs AS j ON j.decision_id = n.decision_id
