-- Do not finish the traces in `removing` (id) any more.
DELETE FROM base.arrivals AS a WHERE a.trace_id IN (SELECT r.id FROM removing AS r)
