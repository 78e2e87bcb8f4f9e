INSERT INTO base.jobs BY NAME
SELECT n.* FROM new_jobs AS n SEMI JOIN kept AS k ON k.trace_id = n.target_id
