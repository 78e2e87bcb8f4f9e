-- The sessions that the traces in `removing` (id) belong to.
SELECT DISTINCT f.project, f.session_id
FROM (
    SELECT trace_id, project, session_id FROM base.spans
    UNION ALL
    SELECT trace_id, project, session_id FROM base.traces
) AS f
WHERE f.session_id IS NOT NULL AND f.trace_id IN (SELECT r.id FROM removing AS r)
