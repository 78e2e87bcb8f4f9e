DELETE FROM base.spans
WHERE seq BETWEEN $first_seq AND $last_seq
    AND seq IN (SELECT d.seq FROM duplicate_spans AS d SEMI JOIN kept AS k ON k.trace_id = d.trace_id)
