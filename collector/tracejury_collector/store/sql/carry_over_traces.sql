-- Traces that were finished by force stay open with what arrived meanwhile, as if opened now.
UPDATE base.open_traces AS o
SET
    first_seen = make_timestamp_ns($now_ns::BIGINT),
    first_seq = c.last_seq + 1,
    marker_seen = false,
    span_count = greatest(0, o.span_count - c.span_count)
FROM closing AS c
WHERE
    o.trace_id = c.trace_id AND o.first_seen = c.first_seen AND c.forced
    AND o.last_seq > c.last_seq
RETURNING o.trace_id
