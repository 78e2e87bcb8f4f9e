-- The projects that have a session of this id, or an open trace that names it, the latest first.
SELECT project
FROM (
    SELECT project, completed_at AS seen FROM base.traces
    WHERE session_id = $session_id
    UNION ALL
    SELECT project, seen FROM base.arrivals WHERE session_id = $session_id
)
GROUP BY project
ORDER BY max(seen) DESC, project
