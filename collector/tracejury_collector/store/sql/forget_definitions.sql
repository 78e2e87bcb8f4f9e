-- Versions older than the newest $kept ones, but those that still say what is defined.
DELETE FROM base.definitions
WHERE
    seq <= (SELECT max(seq) FROM base.definitions) - $kept
    AND seq NOT IN (
        SELECT max(seq)
        FROM base.definitions
        WHERE kind <> 'trial'
        GROUP BY kind, name, source
        HAVING arg_max(state, seq) <> 'ended'
    )
