-- Spans of one trace, as "load_spans" gives those of many, in any order: without a join and an order it
-- is planned in a fraction of the time.
SELECT
    s.trace_id, s.seq, s.content_hash_high, s.content_hash_low, s.span_id, s.parent_span_id,
    s.name, s.otel_kind, s.start_time_unix_nano, s.end_time_unix_nano, s.status,
    s.status_message, s.attributes::VARCHAR AS attributes, s.events::VARCHAR AS events,
    s.resource::VARCHAR AS resource, s.scope::VARCHAR AS scope, s.trace_state
FROM base.spans AS s
WHERE s.seq BETWEEN $first_seq AND $last_seq AND s.trace_id = $trace_id
