-- Open traces that may be finished. `reopened` tells of those that were finished before, as JSON:
-- [trace id, whether the root had ended, nanoseconds for which late arrivals are gathered], ...
SELECT
    o.trace_id, o.project, o.service_name, epoch_ns(o.first_seen) AS first_seen_ns,
    epoch_ns(o.last_seen) AS last_seen_ns, o.first_seq, o.last_seq, o.root_seen, o.root_ended,
    o.marker_seen, o.span_count
FROM base.open_traces AS o
LEFT JOIN (
    SELECT
        value ->> 0 AS trace_id,
        (value -> 1)::BOOLEAN AS root_ended,
        (value -> 2)::BIGINT AS hold_ns
    FROM json_each($reopened)
) AS r ON r.trace_id = o.trace_id
WHERE
    (
        o.marker_seen
        OR o.first_seen <= make_timestamp_ns($aged_ns::BIGINT)
        OR o.last_seen <= make_timestamp_ns($idle_ns::BIGINT)
        OR (
            o.last_seen <= make_timestamp_ns($quiet_ns::BIGINT)
            AND (o.root_ended AND o.root_seen OR coalesce(r.root_ended, false))
        )
        OR (o.root_ended AND o.last_seen <= make_timestamp_ns($imported_ns::BIGINT))
    )
    AND epoch_ns(o.first_seen) <= $now_ns - coalesce(r.hold_ns, 0)
ORDER BY o.last_seen, o.trace_id
LIMIT $batch
