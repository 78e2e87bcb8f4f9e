INSERT INTO base.decisions BY NAME SELECT * FROM new_decisions
