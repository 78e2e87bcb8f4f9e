-- What live rules did with the targets that came to their samples, by minute.
SELECT
    rule, (epoch_ns(decided_at) // 60000000000)::BIGINT AS minute, coalesce(stratum, '') AS stratum,
    count(*) AS sampled, count_if(outcome = 'selected')::BIGINT AS selected
FROM base.decisions
WHERE
    run_id = ''
    AND outcome IN ('sampled_out', 'over_budget', 'overloaded', 'selected')
    AND decided_at >= make_timestamp_ns($since_ns::BIGINT)
GROUP BY ALL
