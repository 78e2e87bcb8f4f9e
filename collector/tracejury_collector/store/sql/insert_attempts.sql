INSERT INTO base.attempts BY NAME SELECT * FROM new_attempts
