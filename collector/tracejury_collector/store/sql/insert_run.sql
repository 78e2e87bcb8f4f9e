INSERT INTO base.runs BY NAME
SELECT
    $run_id AS run_id,
    make_timestamp_ns($created_at_ns::BIGINT) AS created_at,
    'running' AS state,
    $rule AS rule,
    $plan::JSON AS plan,
    $before_seq::BIGINT AS before_seq,
    $targets::BIGINT AS targets,
    $counts::JSON AS counts,
    '' AS error
WHERE (SELECT count(*) FROM base.runs AS r WHERE r.state = 'running') < $most::BIGINT
RETURNING run_id
