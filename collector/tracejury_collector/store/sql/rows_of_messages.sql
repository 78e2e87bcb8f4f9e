-- The rows of revisions named by the Arrow table `wanted`, as they would be written today: `parts`
-- empty where one text is all of them.
SELECT
    r.* REPLACE (
        CASE
            WHEN r.parts = json_array(json_object('type', 'text', 'text', r.text)) THEN '[]'
            ELSE r.parts
        END AS parts
    )
FROM base.messages AS r
JOIN wanted AS w ON w.trace_id = r.trace_id AND w.revision = r.revision
