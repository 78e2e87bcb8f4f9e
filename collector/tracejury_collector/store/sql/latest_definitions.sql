-- The last event of each name and source; those of rules and evaluators, oldest first.
SELECT
    kind, name, source, state, fingerprint, identity, body::VARCHAR AS body, seat::VARCHAR AS seat,
    note, epoch_ns(effective_from) AS effective_from_ns
FROM base.definitions
WHERE kind <> 'trial'
QUALIFY row_number() OVER (PARTITION BY kind, name, source ORDER BY seq DESC) = 1
ORDER BY seq
