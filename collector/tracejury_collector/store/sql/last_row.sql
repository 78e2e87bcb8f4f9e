-- The last seq given out, and when the newest row came, in nanoseconds.
SELECT coalesce(max(seq), 0), coalesce(epoch_ns(max(received_at)), 0)
FROM (
    SELECT max(seq) AS seq, max(received_at) AS received_at FROM base.spans
    UNION ALL
    SELECT max(seq), max(received_at) FROM base.logs
    UNION ALL
    SELECT max(last_seq), max(last_seen) FROM base.open_traces
    UNION ALL
    SELECT max(last_seq), NULL FROM base.traces
)
