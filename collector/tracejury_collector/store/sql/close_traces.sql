-- Forget what was loaded of finished traces; those that went on stay open, unless forced.
DELETE FROM base.arrivals AS a
USING closing AS c
WHERE
    a.trace_id = c.trace_id
    AND a.last_seq <= c.last_seq
    AND (
        c.forced
        OR NOT EXISTS (
            FROM base.arrivals AS later
            WHERE later.trace_id = c.trace_id AND later.last_seq > c.last_seq
        )
    )
