-- Delete the labels whose ids are in the JSON list; return their ids and times.
DELETE FROM base.labels
WHERE label_id IN (SELECT value ->> '$' FROM json_each(?))
RETURNING label_id, epoch_ns(created_at)
