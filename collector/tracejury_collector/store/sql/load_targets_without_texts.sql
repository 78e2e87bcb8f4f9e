-- The same as `load_targets`, for rules that read neither input nor output: most of a trace is these.
SELECT t.* REPLACE (NULL::VARCHAR AS input, NULL::VARCHAR AS output)
FROM base.traces AS t
WHERE NOT t.superseded AND t.first_seq BETWEEN $low::BIGINT AND $high::BIGINT
