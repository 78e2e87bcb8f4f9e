-- How many of these revisions are the current ones.
SELECT count(*)
FROM base.traces AS t
JOIN wanted_targets AS w ON w.target_id = t.trace_id AND w.revision = t.revision
WHERE NOT t.superseded AND t.first_seq BETWEEN $low::BIGINT AND $high::BIGINT
