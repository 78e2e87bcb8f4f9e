INSERT INTO base.decisions BY NAME
SELECT n.* FROM new_decisions AS n SEMI JOIN kept AS k ON k.trace_id = n.target_id
