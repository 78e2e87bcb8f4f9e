-- Judging of history for users of SQL: what was asked for, and how far it is.
CREATE VIEW main.runs AS
SELECT
    run_id,
    state,
    rule,
    coalesce(plan ->> '$.spec.target', 'trace') AS target_kind,
    plan ->> '$.evaluators[*].name' AS evaluators,
    plan ->> '$.evaluators[*].fingerprint' AS fingerprints,
    plan ->> '$.targets.where' AS where_condition,
    make_timestamp_ns((plan ->> '$.targets.since_ns')::BIGINT) AS since,
    make_timestamp_ns((plan ->> '$.targets.until_ns')::BIGINT) AS until,
    (plan ->> '$.spec.sample.rate')::DOUBLE AS rate,
    coalesce((plan ->> '$.rejudge')::BOOLEAN, false) AS rejudge,
    plan ->> '$.shadow.candidate' AS candidate,
    targets AS total,
    coalesce((counts ->> '$.examined')::BIGINT, 0) AS examined,
    coalesce((counts ->> '$.targets')::BIGINT, 0) AS targets,
    coalesce((counts ->> '$.judged')::BIGINT, 0) AS judged_already,
    coalesce((counts ->> '$.outcomes.selected')::BIGINT, 0) AS selected,
    coalesce(list_sum(map_values((counts -> '$.selected')::MAP(VARCHAR, BIGINT))), 0)::BIGINT
        AS to_judge,
    counts -> '$.outcomes' AS outcomes,
    created_at,
    finished_at AS ended_at,
    error
FROM base.runs;

COMMENT ON VIEW main.runs IS 'Judging of history that was asked for, and how far it is.';
COMMENT ON COLUMN main.runs.run_id IS 'As in decisions and scores of the run.';
COMMENT ON COLUMN main.runs.state IS 'running, done, canceled or failed.';
COMMENT ON COLUMN main.runs.rule IS 'The rule that decides; empty for evaluators alone.';
COMMENT ON COLUMN main.runs.target_kind IS 'trace or session: what it judges.';
COMMENT ON COLUMN main.runs.evaluators IS 'Names of the evaluators that judge in it.';
COMMENT ON COLUMN main.runs.fingerprints IS 'Their versions, in the same order.';
COMMENT ON COLUMN main.runs.where_condition IS 'Which targets it was asked for; true: all.';
COMMENT ON COLUMN main.runs.since IS 'Traces that started then or later; NULL: no bound.';
COMMENT ON COLUMN main.runs.until IS 'Traces that started before; NULL: no bound.';
COMMENT ON COLUMN main.runs.rate IS 'Share that is judged, outside of strata.';
COMMENT ON COLUMN main.runs.rejudge IS 'Whether what was judged before is judged again.';
COMMENT ON COLUMN main.runs.candidate IS 'Of a shadow run: the evaluator that is tried; else NULL.';
COMMENT ON COLUMN main.runs.total IS 'Traces, or sessions, in its range when it began.';
COMMENT ON COLUMN main.runs.examined IS 'Those of them that were looked at so far.';
COMMENT ON COLUMN main.runs.targets IS 'Those of them for which the condition holds.';
COMMENT ON COLUMN main.runs.judged_already IS 'Selected ones that every evaluator had judged before.';
COMMENT ON COLUMN main.runs.selected IS 'Targets that were selected so far.';
COMMENT ON COLUMN main.runs.to_judge IS 'Judgements decided on so far; their results are in scores.';
COMMENT ON COLUMN main.runs.outcomes IS 'Decisions so far by outcome.';
COMMENT ON COLUMN main.runs.created_at IS 'When it began (UTC).';
COMMENT ON COLUMN main.runs.ended_at IS 'When it ended; NULL while it runs.';
COMMENT ON COLUMN main.runs.error IS 'Why it failed; empty otherwise.';
