-- The labels whose ids are in the JSON list, in the order of the fields of a label.
SELECT
    label_id, name, source, coalesce(trace_id, ''), coalesce(span_id, ''),
    coalesce(session_id, ''), coalesce(project, ''), value, score, verdict, coalesce(label, ''),
    coalesce(comment, ''), coalesce(author, ''), epoch_ns(created_at)
FROM base.labels
WHERE label_id IN (SELECT value ->> '$' FROM json_each(?))
