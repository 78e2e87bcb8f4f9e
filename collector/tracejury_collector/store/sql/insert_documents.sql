INSERT INTO base.documents BY NAME
SELECT n.* FROM new_documents AS n SEMI JOIN kept AS k ON k.trace_id = n.trace_id
