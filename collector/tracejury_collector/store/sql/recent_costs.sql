-- What the newest judgements of an evaluator took, by fingerprint; NULL where none told.
SELECT
    fingerprint,
    count(*) AS samples,
    avg(cost_usd) AS usd,
    avg(input_tokens) AS input_tokens,
    avg(output_tokens) AS output_tokens,
    count_if(coalesce(input_tokens, output_tokens) IS NOT NULL AND cost_usd IS NULL) AS unpriced
FROM (
    SELECT r.fingerprint, r.cost_usd, r.input_tokens, r.output_tokens
    FROM base.results AS r
    WHERE r.outcome = 'score' AND r.fingerprint = $fingerprint
    ORDER BY r.created_at DESC
    LIMIT $most
)
GROUP BY fingerprint
