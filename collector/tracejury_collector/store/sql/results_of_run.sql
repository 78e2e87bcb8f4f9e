-- What came of a run so far, by evaluator; nothing of it was made before the run.
SELECT
    r.evaluator,
    count_if(r.outcome = 'score') AS scores,
    count_if(r.outcome = 'skip') AS skips,
    count_if(r.outcome = 'failure') AS failures,
    count_if(r.verdict = 'pass') AS passed,
    count_if(r.verdict IN ('partial', 'fail')) AS not_passed,
    sum(r.cost_usd) AS cost_usd,
    sum(r.input_tokens)::BIGINT AS input_tokens,
    sum(r.output_tokens)::BIGINT AS output_tokens
FROM base.results AS r
WHERE r.run_id = $run_id AND r.created_at >= make_timestamp_ns($created_at_ns::BIGINT)
GROUP BY r.evaluator
