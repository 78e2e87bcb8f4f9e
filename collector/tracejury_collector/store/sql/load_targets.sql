SELECT t.*
FROM base.traces AS t
WHERE
    NOT t.superseded
    AND t.first_seq BETWEEN $low::BIGINT AND $high::BIGINT
    AND t.first_seq IN (SELECT j.value::BIGINT FROM json_each($first_seqs::JSON) AS j)
ORDER BY t.first_seq DESC
