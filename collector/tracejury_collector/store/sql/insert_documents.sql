INSERT INTO base.documents BY NAME SELECT * FROM new_documents
