-- Look at these sessions again later.
UPDATE base.open_sessions AS o
SET not_before = make_timestamp_ns(p.due_ns)
FROM postponed_sessions AS p
WHERE o.project = p.project AND o.session_id = p.session_id
