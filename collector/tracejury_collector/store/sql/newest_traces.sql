-- The place in the order of all traces where everything so far lies behind.
SELECT
    (SELECT coalesce(max(position), 0) FROM base.traces) AS finished,
    (SELECT coalesce(max(last_seq), 0) FROM base.arrivals) AS seq
