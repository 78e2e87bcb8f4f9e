-- By which version of each evaluator a trace or session will be judged, by decision.
SELECT j.decision_id, unnest(j.evaluators) AS evaluator, unnest(j.fingerprints) AS identity
FROM base.jobs AS j
WHERE j.target_kind = $target_kind AND j.target_id = $target_id
