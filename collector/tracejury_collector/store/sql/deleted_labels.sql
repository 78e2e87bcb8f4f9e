-- When the labels whose ids are in the JSON list were deleted.
SELECT label_id, max(epoch_ns(deleted_at))
FROM base.deleted_labels
WHERE label_id IN (SELECT value ->> '$' FROM json_each(?))
GROUP BY label_id
