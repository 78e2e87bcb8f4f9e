-- Open traces that may be finished; `reopened` are ids of those whose root ended before.
SELECT
    o.trace_id, o.project, o.service_name, epoch_ns(o.first_seen) AS first_seen_ns,
    epoch_ns(o.last_seen) AS last_seen_ns, o.first_seq, o.last_seq, o.root_seen, o.root_ended,
    o.marker_seen, o.span_count
FROM base.open_traces AS o
WHERE
    o.marker_seen
    OR o.first_seen <= make_timestamp_ns($aged_ns::BIGINT)
    OR o.last_seen <= make_timestamp_ns($idle_ns::BIGINT)
    OR (
        o.last_seen <= make_timestamp_ns($quiet_ns::BIGINT)
        AND (o.root_ended OR o.trace_id IN (SELECT unnest($reopened::VARCHAR[])))
    )
ORDER BY o.last_seen, o.trace_id
LIMIT $batch
