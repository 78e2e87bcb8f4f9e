-- Which evaluators have judged these targets, or are about to; `identity` as in `jobs`. What broke
-- is not judged, nor is what was never tried.
SELECT w.target_id, concat_ws('+', r.fingerprint, nullif(r.criteria_hash, '')) AS identity
FROM base.results AS r
JOIN wanted_targets AS w
    ON w.target_id = r.target_id AND w.revision = r.revision AND w.target_kind = r.target_kind
WHERE
    NOT r.superseded
    AND r.outcome <> 'failure'
    AND (r.outcome <> 'skip' OR coalesce(r.details ->> 'refused', '') <> 'budget')
    AND r.fingerprint IN (SELECT f.fingerprint FROM wanted_fingerprints AS f)
UNION
SELECT w.target_id, unnest(j.fingerprints) AS identity
FROM base.jobs AS j
JOIN wanted_targets AS w
    ON w.target_id = j.target_id AND w.revision = j.revision AND w.target_kind = j.target_kind
