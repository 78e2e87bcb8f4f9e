-- Traces that are finished by force and stay open with what arrived meanwhile.
SELECT DISTINCT a.trace_id
FROM base.arrivals AS a
JOIN closing AS c ON c.trace_id = a.trace_id
WHERE c.forced AND a.last_seq > c.last_seq
