SELECT seat::VARCHAR
FROM base.definitions
WHERE identity = $identity AND seat IS NOT NULL
ORDER BY seq DESC
LIMIT 1
