-- Traces of an end user: those that name the user, and in sessions where nobody else is named those
-- that name nobody ($project: in one project; NULL: in all). `is_named` tells them apart.
WITH facts AS (
    SELECT trace_id, project, session_id, user_id FROM base.spans
    UNION ALL
    SELECT trace_id, project, session_id, user_id FROM base.traces
),
named AS (
    SELECT DISTINCT trace_id FROM facts
    WHERE user_id = $user_id AND ($project IS NULL OR project = $project)
),
own_sessions AS (
    SELECT project, session_id FROM facts
    WHERE session_id IS NOT NULL AND ($project IS NULL OR project = $project)
    GROUP BY ALL
    HAVING min(user_id) = $user_id AND max(user_id) = $user_id
),
unnamed AS (
    SELECT f.trace_id
    FROM facts AS f
    JOIN own_sessions AS s ON s.project = f.project AND s.session_id = f.session_id
    GROUP BY f.trace_id
    HAVING count(f.user_id) = 0
)
SELECT trace_id, true AS is_named FROM named
UNION ALL
SELECT u.trace_id, false FROM unnamed AS u ANTI JOIN named AS n ON n.trace_id = u.trace_id
ORDER BY trace_id
