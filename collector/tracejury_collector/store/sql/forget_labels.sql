-- Old labels about traces and sessions of which nothing is there.
DELETE FROM base.labels AS l
WHERE
    l.received_at < make_timestamp_ns($before_ns::BIGINT)
    AND NOT EXISTS (FROM base.traces AS t WHERE t.trace_id = l.trace_id)
    AND NOT EXISTS (FROM base.arrivals AS a WHERE a.trace_id = l.trace_id)
    AND NOT EXISTS (FROM base.traces AS t WHERE t.session_id = l.session_id)
