SELECT
    o.trace_id, o.project, o.service_name, epoch_ns(o.first_seen) AS first_seen_ns,
    epoch_ns(o.last_seen) AS last_seen_ns, o.first_seq, o.last_seq, o.root_seen, o.root_ended,
    o.marker_seen, o.span_count
FROM base.open_traces AS o
WHERE o.trace_id = $trace_id
