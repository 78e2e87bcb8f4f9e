-- The traces of sessions (a JSON array of ids), latest start first, as many of each as can be judged
-- together; `traces` says how many there are.
SELECT project, session_id, trace_id, revision, first_seq, last_seq, kind, traces
FROM (
    SELECT
        t.project, t.session_id, t.trace_id, t.revision, t.first_seq, t.last_seq, t.kind,
        count(*) OVER (PARTITION BY t.project, t.session_id) AS traces,
        row_number() OVER latest AS place,
        sum(t.span_count) OVER latest AS spans
    FROM base.traces AS t
    WHERE
        NOT t.superseded
        AND t.spans_deleted_at IS NULL
        AND t.session_id IN (SELECT value ->> '$' FROM json_each($session_ids))
    WINDOW latest AS (
        PARTITION BY t.project, t.session_id
        ORDER BY t.start_time DESC NULLS LAST, t.first_seq DESC
        ROWS UNBOUNDED PRECEDING
    )
)
WHERE place <= $max_traces AND (spans <= $max_spans OR place = 1)
ORDER BY project, session_id, place
