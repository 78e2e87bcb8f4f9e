-- The rows of revisions named by the Arrow table `wanted`.
SELECT r.* FROM base.llm_calls AS r
JOIN wanted AS w ON w.trace_id = r.trace_id AND w.revision = r.revision
