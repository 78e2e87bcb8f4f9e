-- Note that there is news of sessions: of those that finished traces belong to (`new_sessions`), and
-- of those that the revisions before belonged to.
MERGE INTO base.open_sessions AS o
USING (
    SELECT project, session_id, make_timestamp_ns(max(seen_ns)) AS seen
    FROM (
        SELECT project, session_id, seen_ns FROM new_sessions
        UNION ALL
        SELECT t.project, t.session_id, n.seen_ns
        FROM base.traces AS t
        JOIN (FROM new_sessions WHERE revision > 1) AS n
            ON n.trace_id = t.trace_id AND n.revision - 1 = t.revision
    )
    WHERE session_id <> ''
    GROUP BY ALL
) AS n
ON o.project = n.project AND o.session_id = n.session_id
WHEN MATCHED THEN UPDATE SET last_seen = greatest(o.last_seen, n.seen)
WHEN NOT MATCHED THEN
    INSERT (project, session_id, first_seen, last_seen, not_before)
    VALUES (n.project, n.session_id, n.seen, n.seen, n.seen)
