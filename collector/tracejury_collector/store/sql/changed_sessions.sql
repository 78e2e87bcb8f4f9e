-- Judged sessions that are no longer what was judged: those that finished traces belong to
-- (`new_sessions`), those that the revisions before belonged to, and those with news from before.
SELECT DISTINCT r.target_id
FROM base.session_revisions AS r
SEMI JOIN (
    SELECT n.project, n.session_id FROM new_sessions AS n
    UNION ALL
    SELECT t.project, t.session_id
    FROM base.traces AS t
    JOIN (FROM new_sessions WHERE revision > 1) AS n
        ON n.trace_id = t.trace_id AND n.revision - 1 = t.revision
    UNION ALL
    SELECT o.project, o.session_id FROM base.open_sessions AS o
) AS c ON c.project = r.project AND c.session_id = r.session_id
WHERE NOT r.superseded
