-- Sessions that may be finished: quiet, and none of their traces open. `busy` are the sessions of
-- traces that were opened again, as JSON: [project, session id], ...
SELECT
    o.project, o.session_id, epoch_ns(o.first_seen) AS first_seen_ns,
    epoch_ns(o.last_seen) AS last_seen_ns
FROM base.open_sessions AS o
ANTI JOIN (SELECT value ->> 0 AS project, value ->> 1 AS session_id FROM json_each($busy)) AS b
    ON b.project = o.project AND b.session_id = o.session_id
ANTI JOIN base.arrivals AS a ON a.project = o.project AND a.session_id = o.session_id
WHERE
    o.last_seen <= make_timestamp_ns($quiet_ns::BIGINT)
    AND o.not_before <= make_timestamp_ns($now_ns::BIGINT)
ORDER BY o.last_seen, o.project, o.session_id
LIMIT $batch
