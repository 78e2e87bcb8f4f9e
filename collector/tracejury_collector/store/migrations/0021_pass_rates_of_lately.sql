-- Pass rates of a time look for the evaluators of a rule in the results of that time, and in all of
-- the history only where that does not say; decisions are looked up once.
CREATE OR REPLACE MACRO base.decided(
    keys, since_ns, until_ns, bucket_ns, only_rule, only_service, only_project
) AS TABLE
SELECT
    d.decision_id, d.rule, d.rule_fingerprint, d.evaluators, d.outcome, d.stratum, d.decided_at,
    d.probability, coalesce(d.upstream_probability, 1) AS kept, d.target_id,
    -- sessions of one id in two projects are two
    CASE WHEN d.sampled_by = 'session' THEN t.project || ' ' || d.session_id END AS conversation,
    CASE WHEN contains(keys, 'project') THEN t.project END AS project,
    CASE WHEN contains(keys, 'service') THEN t.service_name END AS service,
    unnest(
        CASE
            WHEN contains(keys, 'model') AND len(t.models) > 0 THEN list_distinct(t.models)
            ELSE [NULL]
        END
    ) AS model,
    CASE WHEN contains(keys, 'agent') THEN t.agent_name END AS agent,
    CASE
        WHEN contains(keys, 'bucket')
            THEN make_timestamp_ns(
                epoch_ns(d.decided_at) // bucket_ns::BIGINT * bucket_ns::BIGINT
            )
    END AS bucket
FROM base.decisions AS d
JOIN base.targets_since(since_ns) AS t
    ON t.target_id = d.target_id AND t.revision = d.revision AND t.target_kind = d.target_kind
WHERE
    d.run_id = ''
    AND d.outcome <> 'filtered'
    AND (only_rule IS NULL OR d.rule = only_rule)
    AND (only_service IS NULL OR t.service_name = only_service)
    AND (only_project IS NULL OR t.project = only_project)
    AND (since_ns IS NULL OR d.decided_at >= make_timestamp_ns(since_ns::BIGINT))
    AND (until_ns IS NULL OR d.decided_at < make_timestamp_ns(until_ns::BIGINT));

-- What estimates of pass rates need, see `estimates.py`: a row for each rule, evaluator, version
-- of the evaluator, and what `keys` asks for besides.
CREATE OR REPLACE MACRO base.pass_moments(
    keys, since_ns, until_ns, bucket_ns, only_rule, only_evaluator, only_service, only_project
) AS TABLE
WITH decided AS MATERIALIZED (
    FROM base.decided(keys, since_ns, until_ns, bucket_ns, only_rule, only_service, only_project)
),
-- The evaluators of each version of a rule: a decision that selects nothing does not name them.
-- Those that judged since then, or will, are nearly always all of them.
lately AS MATERIALIZED (
    SELECT DISTINCT rule_fingerprint, evaluator, fingerprint, criteria_hash
    FROM base.results
    WHERE
        run_id = ''
        AND (since_ns IS NULL OR created_at >= make_timestamp_ns(since_ns::BIGINT))
    UNION
    SELECT
        rule_fingerprint, evaluator, split_part(identity, '+', 1), split_part(identity, '+', 2)
    FROM (
        SELECT rule_fingerprint, unnest(evaluators) AS evaluator, unnest(fingerprints) AS identity
        FROM base.jobs
        WHERE run_id = ''
    )
),
named AS MATERIALIZED (
    SELECT DISTINCT rule_fingerprint, unnest(evaluators) AS evaluator
    FROM decided
    WHERE outcome = 'selected'
),
-- Where they are not, all of the history says which they are.
unknown AS MATERIALIZED (
    SELECT rule_fingerprint
    FROM decided
    WHERE since_ns IS NOT NULL AND rule_fingerprint NOT IN (SELECT rule_fingerprint FROM named)
    UNION
    SELECT n.rule_fingerprint
    FROM named AS n
    ANTI JOIN lately AS l
        ON l.rule_fingerprint = n.rule_fingerprint AND l.evaluator = n.evaluator
    WHERE since_ns IS NOT NULL
),
versions AS MATERIALIZED (
    FROM lately
    UNION
    SELECT DISTINCT r.rule_fingerprint, r.evaluator, r.fingerprint, r.criteria_hash
    FROM base.results AS r
    SEMI JOIN unknown AS u ON u.rule_fingerprint = r.rule_fingerprint
    WHERE r.run_id = ''
),
unjudged AS (
    SELECT
        rule, rule_fingerprint, project, service, model, agent, bucket, outcome AS state,
        count(*) AS n, sum(1 / kept) AS traffic,
        min(decided_at) AS first_decided_at, max(decided_at) AS last_decided_at
    FROM decided
    WHERE outcome <> 'selected'
    GROUP BY ALL
),
selected AS MATERIALIZED (
    SELECT
        {
            'rule': d.rule,
            'evaluator': v.evaluator,
            'fingerprint': v.fingerprint,
            'criteria_hash': v.criteria_hash,
            'project': d.project,
            'service': d.service,
            'model': d.model,
            'agent': d.agent,
            'bucket': d.bucket
        } AS key,
        coalesce(d.stratum, '') AS stratum,
        hash(d.conversation IS NULL, coalesce(d.conversation, d.target_id)) AS cluster,
        coalesce(r.outcome, 'pending') AS state,
        coalesce(r.verdict = 'pass', r.score >= 1) AS passes,
        r.score, d.kept, d.decided_at,
        1 / (d.probability * d.kept) AS weight
    FROM decided AS d
    JOIN versions AS v ON v.rule_fingerprint = d.rule_fingerprint
    LEFT JOIN (
        -- A result is never older than its decision.
        SELECT decision_id, evaluator, outcome, verdict, score
        FROM base.results
        WHERE
            NOT superseded
            AND (since_ns IS NULL OR created_at >= make_timestamp_ns(since_ns::BIGINT))
    ) AS r
        ON r.decision_id = d.decision_id AND r.evaluator = v.evaluator
    WHERE d.outcome = 'selected' AND (only_evaluator IS NULL OR v.evaluator = only_evaluator)
),
states AS (
    SELECT
        {
            'rule': u.rule,
            'evaluator': v.evaluator,
            'fingerprint': v.fingerprint,
            'criteria_hash': v.criteria_hash,
            'project': u.project,
            'service': u.service,
            'model': u.model,
            'agent': u.agent,
            'bucket': u.bucket
        } AS key,
        u.state, false AS passes, u.n, u.traffic, u.first_decided_at, u.last_decided_at
    FROM unjudged AS u
    LEFT JOIN versions AS v ON v.rule_fingerprint = u.rule_fingerprint
    WHERE only_evaluator IS NULL OR v.evaluator = only_evaluator
    UNION ALL
    SELECT key, state, passes, count(*), sum(1 / kept), min(decided_at), max(decided_at)
    FROM selected
    GROUP BY key, state, passes
),
counts AS (
    SELECT
        key,
        sum(CASE WHEN state = 'score' THEN n ELSE 0 END)::BIGINT AS judged,
        sum(CASE WHEN state = 'score' AND passes THEN n ELSE 0 END)::BIGINT AS passed,
        sum(traffic) AS traffic,
        sum(CASE WHEN state = 'sampled_out' THEN n ELSE 0 END)::BIGINT AS sampled_out,
        sum(CASE WHEN state = 'skip' THEN n ELSE 0 END)::BIGINT AS skipped,
        sum(CASE WHEN state = 'failure' THEN n ELSE 0 END)::BIGINT AS failed,
        sum(CASE WHEN state = 'pending' THEN n ELSE 0 END)::BIGINT AS pending,
        sum(CASE WHEN state = 'over_budget' THEN n ELSE 0 END)::BIGINT AS over_budget,
        sum(CASE WHEN state = 'overloaded' THEN n ELSE 0 END)::BIGINT AS overloaded,
        sum(CASE WHEN state = 'condition_failed' THEN n ELSE 0 END)::BIGINT AS condition_failed,
        sum(CASE WHEN state = 'revision_limit' THEN n ELSE 0 END)::BIGINT AS revision_limit,
        min(first_decided_at) AS first_decided_at,
        max(last_decided_at) AS last_decided_at
    FROM states
    GROUP BY key
),
-- A cell is what one stratum and one cluster have in common. Rows and clusters go by 64-bit hashes:
-- to group by texts takes several times as long.
cells AS (
    SELECT
        hash(key) AS id, stratum, cluster,
        sum(weight) AS weight,
        sum(CASE WHEN passes THEN weight ELSE 0 END) AS weight_passed,
        sum(weight * score) AS weight_scored
    FROM selected
    WHERE state = 'score'
    GROUP BY ALL
),
parts AS (
    SELECT
        id, stratum, sum(weight) AS weight, sum(weight_passed) AS weight_passed,
        sum(weight ** 2) AS square, sum(weight) ** 2 / sum(weight ** 2) AS draws
    FROM cells
    GROUP BY id, stratum
),
rates AS (
    SELECT
        id, sum(weight_passed) / sum(weight) AS rate,
        sum(
            square * greatest(
                0,
                base.spread((weight_passed / weight * draws + 1) / (draws + 2))
                - base.spread(weight_passed / weight)
            )
        ) AS excess
    FROM parts
    GROUP BY id
),
clusters AS (
    SELECT
        id, cluster, sum(weight) AS weight, sum(weight_passed) AS weight_passed,
        sum(weight_scored) AS weight_scored
    FROM cells
    GROUP BY id, cluster
),
moments AS (
    SELECT
        c.id,
        count(*) AS clusters,
        sum(c.weight) AS weight,
        sum(c.weight_passed) AS weight_passed,
        sum(c.weight_scored) AS weight_scored,
        sum(c.weight ** 2) AS cluster_square,
        sum((c.weight_passed - r.rate * c.weight) ** 2) AS spread,
        any_value(r.excess) AS excess
    FROM clusters AS c
    JOIN rates AS r ON r.id = c.id
    GROUP BY c.id
)
SELECT
    unnest(c.key), c.* EXCLUDE (key), coalesce(m.clusters, 0) AS clusters,
    coalesce(m.weight, 0) AS weight, coalesce(m.weight_passed, 0) AS weight_passed,
    coalesce(m.weight_scored, 0) AS weight_scored,
    coalesce(m.cluster_square, 0) AS cluster_square, coalesce(m.spread, 0) AS spread,
    coalesce(m.excess, 0) AS excess
FROM counts AS c
LEFT JOIN moments AS m ON m.id = hash(c.key);
