-- Which of the traces that begin at `first_seqs` hold; `true` is replaced by the caller's
-- condition, which was checked.
SELECT w.first_seq
FROM (SELECT traces.* FROM main.traces AS traces WHERE (true)) AS w
WHERE
    w.first_seq BETWEEN $low::BIGINT AND $high::BIGINT
    AND w.first_seq IN (SELECT j.value::BIGINT FROM json_each($first_seqs::JSON) AS j)
