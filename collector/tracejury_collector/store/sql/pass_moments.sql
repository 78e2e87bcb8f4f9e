-- What estimates of pass rates are made of; versions of an evaluator in the order of their time.
SELECT
    * REPLACE (
        epoch_ns(bucket) AS bucket,
        epoch_ns(first_decided_at) AS first_decided_at,
        epoch_ns(last_decided_at) AS last_decided_at
    )
FROM base.pass_moments(
    $keys, $since_ns, $until_ns, $bucket_ns, $rule, $evaluator, $service, $project
)
ORDER BY rule, evaluator, project, service, model, agent, bucket, first_decided_at, fingerprint
LIMIT $limit
