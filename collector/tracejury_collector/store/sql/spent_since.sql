-- What judging has cost since then, by rule and evaluator; unknown prices are told apart from none.
SELECT
    rule,
    fingerprint || CASE WHEN criteria_hash = '' THEN '' ELSE '+' || criteria_hash END AS identity,
    coalesce(sum(cost_usd), 0) AS usd,
    (coalesce(sum(input_tokens), 0) + coalesce(sum(output_tokens), 0))::BIGINT AS tokens,
    coalesce(max(cost_usd), 0) AS most_usd,
    coalesce(max(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), 0)::BIGINT AS most_tokens,
    coalesce(
        bool_or(cost_usd IS NULL AND coalesce(input_tokens, 0) + coalesce(output_tokens, 0) > 0),
        false
    ) AS has_unpriced
FROM base.results
WHERE created_at >= make_timestamp_ns($since_ns::BIGINT)
GROUP BY ALL
