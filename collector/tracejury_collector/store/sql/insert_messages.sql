INSERT INTO base.messages BY NAME
SELECT n.* FROM new_messages AS n SEMI JOIN kept AS k ON k.trace_id = n.trace_id
