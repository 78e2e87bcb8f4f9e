-- How far everything that is only added to has come; what is empty is at a number below all.
SELECT
    greatest(
        (SELECT coalesce(max(seq), -1) FROM base.spans),
        (SELECT coalesce(max(seq), -1) FROM base.logs)
    ) AS seq,
    (SELECT coalesce(max(position), -4611686018427387904) FROM base.results) AS position,
    (SELECT coalesce(epoch_ns(max(decided_at)), -1) FROM base.decisions) AS decided_ns,
    (SELECT coalesce(epoch_ns(max(started_at)), -1) FROM base.attempts) AS attempted_ns
