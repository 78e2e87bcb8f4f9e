-- Events in the life of definitions; only ever appended. `state` says what began at
-- `effective_from`: in_force; ended (removed); suspended (kept, but it cannot be used now: `note`).
-- `seat` is what the jury needs to judge by an evaluator, NULL where that holds a secret.
CREATE TABLE base.definitions (
    seq BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    identity VARCHAR NOT NULL,
    body JSON NOT NULL,
    seat JSON,
    note VARCHAR NOT NULL,
    effective_from TIMESTAMP_NS NOT NULL
);

CREATE VIEW main.definitions AS
SELECT
    kind, name, source, fingerprint, split_part(identity, '+', 2) AS criteria_hash, body,
    effective_from,
    CASE
        WHEN kind <> 'trial'
        THEN lead(effective_from) OVER (PARTITION BY kind, name ORDER BY seq)
    END AS deleted_at
FROM base.definitions
QUALIFY state = 'in_force';

COMMENT ON VIEW main.definitions IS 'Every version of a rule or evaluator that was ever in force.';
COMMENT ON COLUMN main.definitions.kind IS 'evaluator, rule, or trial: a candidate that a run tried.';
COMMENT ON COLUMN main.definitions.source IS 'file (the configuration), default (built in) or api.';
COMMENT ON COLUMN main.definitions.fingerprint IS 'As in scores: fingerprint, or rule_fingerprint.';
COMMENT ON COLUMN main.definitions.criteria_hash IS
'As in scores: hash of an evaluator''s default criteria; empty for none, and for rules.';
COMMENT ON COLUMN main.definitions.body IS 'As it was written; secrets are left out.';
COMMENT ON COLUMN main.definitions.deleted_at IS
'When it was replaced or removed; NULL while it is in force.';
