INSERT INTO base.llm_calls BY NAME SELECT * FROM new_llm_calls
