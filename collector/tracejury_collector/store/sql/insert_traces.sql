INSERT INTO base.traces BY NAME
SELECT n.*, base.id_key(n.trace_id) AS id_key FROM new_traces AS n
