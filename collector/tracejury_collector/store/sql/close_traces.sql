DELETE FROM base.open_traces AS o
USING closing AS c
WHERE o.trace_id = c.trace_id AND o.first_seen = c.first_seen AND o.last_seq = c.last_seq
