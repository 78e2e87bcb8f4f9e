INSERT INTO base.traces BY NAME SELECT * FROM new_traces
