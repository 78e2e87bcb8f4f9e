INSERT INTO base.session_revisions BY NAME FROM new_session_revisions
