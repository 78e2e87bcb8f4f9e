-- Forget what was loaded of traces that are finished now; what came later stays.
DELETE FROM base.arrivals AS a
USING closing AS c
WHERE a.trace_id = c.trace_id AND a.last_seq <= c.last_seq
