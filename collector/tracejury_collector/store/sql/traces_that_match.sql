-- Of traces by where they begin (a JSON array of numbers), those that match; `true` is replaced by
-- the caller's condition, which was checked.
SELECT w.first_seq
FROM (
    SELECT traces.*
    FROM main.traces AS traces
    WHERE
        traces.first_seq BETWEEN $low AND $high
        AND traces.first_seq IN (SELECT value::BIGINT FROM json_each($first_seqs))
        AND (true)
) AS w
