-- Current revisions, of traces that are not open, that begin between these sequence numbers, or
-- before the first of all ($from_seq) and go on after it.
SELECT
    t.trace_id, t.revision, t.first_seq, t.last_seq, t.project, t.service_name, t.root_ended,
    t.completed_by, epoch_ns(t.completed_at) AS completed_at_ns
FROM base.traces AS t
ANTI JOIN base.open_traces AS o ON o.trace_id = t.trace_id
WHERE
    NOT t.superseded
    AND t.spans_deleted_at IS NULL
    AND (
        t.first_seq BETWEEN $first_seq AND $last_seq
        OR ($first_seq = $from_seq AND t.first_seq < $from_seq AND t.last_seq >= $from_seq)
    )
ORDER BY t.first_seq
