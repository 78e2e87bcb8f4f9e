-- Labels in the JSON list are no longer deleted.
DELETE FROM base.deleted_labels
WHERE label_id IN (SELECT value ->> '$' FROM json_each(?))
