INSERT INTO base.messages BY NAME SELECT * FROM new_messages
