-- Log records of the traces in `wanted` (trace_id, first_seq, last_seq), in order of arrival;
-- the time is that of observation where the source gave none.
SELECT
    l.trace_id, l.seq, l.content_hash_high, l.content_hash_low, l.span_id, l.event_name,
    coalesce(nullif(l.time_unix_nano, 0), l.observed_time_unix_nano) AS time_unix_nano,
    l.body::VARCHAR AS body, l.attributes::VARCHAR AS attributes,
    l.resource::VARCHAR AS resource, l.scope::VARCHAR AS scope
FROM base.logs AS l
JOIN wanted AS w ON l.trace_id = w.trace_id AND l.seq BETWEEN w.first_seq AND w.last_seq
WHERE l.seq BETWEEN ? AND ?
ORDER BY l.seq
