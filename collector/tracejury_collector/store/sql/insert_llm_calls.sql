INSERT INTO base.llm_calls BY NAME
SELECT n.* FROM new_llm_calls AS n SEMI JOIN kept AS k ON k.trace_id = n.trace_id
