DELETE FROM base.spans
WHERE seq BETWEEN $first_seq AND $last_seq AND seq IN (SELECT d.seq FROM duplicate_spans AS d)
