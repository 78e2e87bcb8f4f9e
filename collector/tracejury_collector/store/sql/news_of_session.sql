-- What no revision of a session holds yet, and how many of its traces are open; one row.
SELECT
    (
        SELECT count(DISTINCT a.trace_id)
        FROM base.arrivals AS a
        WHERE
            (a.project = $project AND a.session_id = $session_id)
            OR a.trace_id IN (
                SELECT t.trace_id FROM base.traces AS t
                WHERE NOT t.superseded AND t.session_id = $session_id AND t.project = $project
            )
    ) AS open_traces,
    epoch_ns(min(o.first_seen)) AS first_seen_ns,
    epoch_ns(max(o.last_seen)) AS last_seen_ns
FROM base.open_sessions AS o
WHERE o.project = $project AND o.session_id = $session_id
