-- Log records of one trace, as "load_logs" gives those of many, in any order.
SELECT
    l.trace_id, l.seq, l.content_hash_high, l.content_hash_low, l.span_id, l.event_name,
    coalesce(nullif(l.time_unix_nano, 0), l.observed_time_unix_nano) AS time_unix_nano,
    l.body::VARCHAR AS body, l.attributes::VARCHAR AS attributes,
    l.resource::VARCHAR AS resource, l.scope::VARCHAR AS scope
FROM base.logs AS l
WHERE l.seq BETWEEN $first_seq AND $last_seq AND l.trace_id = $trace_id
