INSERT INTO base.jobs BY NAME SELECT * FROM new_jobs
