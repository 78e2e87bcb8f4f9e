-- Where a decided target belongs, and what its sampling went by, so that rates can be weighted.
-- An upstream probability is 1 where the exporter says nothing of sampling.
ALTER TABLE base.decisions ADD COLUMN project VARCHAR;
ALTER TABLE base.decisions ADD COLUMN session_id VARCHAR;
ALTER TABLE base.decisions ADD COLUMN sampled_by VARCHAR;
ALTER TABLE base.decisions ADD COLUMN upstream_probability DOUBLE DEFAULT 1.0;
ALTER TABLE base.traces ADD COLUMN upstream_probability DOUBLE DEFAULT 1.0;

CREATE OR REPLACE VIEW main.decisions AS
SELECT
    decision_id, rule, rule_fingerprint, run_id, target_kind, target_id, revision, outcome, reason,
    stratum, probability, evaluators, decided_at, project, session_id, sampled_by,
    upstream_probability
FROM base.decisions;

COMMENT ON VIEW main.decisions IS 'What each rule decided on each finished revision, and why.';
COMMENT ON COLUMN main.decisions.probability IS 'The chance with which the sample took this revision.';
COMMENT ON COLUMN main.decisions.sampled_by IS 'trace or session: what the sample was drawn by; NULL: not sampled.';
COMMENT ON COLUMN main.decisions.upstream_probability IS 'The chance with which it was kept before it came here; 1: not said.';
