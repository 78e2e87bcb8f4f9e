-- The traces that begin in this range, each as rules see it.
SELECT t.*
FROM base.traces AS t
WHERE NOT t.superseded AND t.first_seq BETWEEN $low::BIGINT AND $high::BIGINT
