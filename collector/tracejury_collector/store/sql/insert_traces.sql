INSERT INTO base.traces BY NAME
SELECT n.* FROM new_traces AS n SEMI JOIN kept AS k ON k.trace_id = n.trace_id
