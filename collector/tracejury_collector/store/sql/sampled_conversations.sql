-- The chance that live rules gave each conversation first, those seen last at the end.
SELECT
    rule_fingerprint, project, session_id, coalesce(arg_min(coalesce(stratum, ''), decided_at), ''),
    arg_min(probability, decided_at)
FROM base.decisions
WHERE
    run_id = ''
    AND sampled_by = 'session'
    AND probability IS NOT NULL
    AND decided_at >= make_timestamp_ns($since_ns::BIGINT)
GROUP BY rule_fingerprint, project, session_id
ORDER BY max(decided_at) DESC
LIMIT $most
