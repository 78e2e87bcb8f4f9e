-- Spans of the traces in `wanted` (trace_id, first_seq, last_seq), in order of arrival.
SELECT
    s.trace_id, s.seq, s.content_hash_high, s.content_hash_low, s.span_id, s.parent_span_id,
    s.name, s.otel_kind, s.start_time_unix_nano, s.end_time_unix_nano, s.status,
    s.status_message, s.attributes::VARCHAR AS attributes, s.events::VARCHAR AS events,
    s.resource::VARCHAR AS resource, s.scope::VARCHAR AS scope, s.trace_state
FROM base.spans AS s
JOIN wanted AS w ON s.trace_id = w.trace_id AND s.seq BETWEEN w.first_seq AND w.last_seq
WHERE s.seq BETWEEN ? AND ?
ORDER BY s.seq
