DELETE FROM base.logs
WHERE seq BETWEEN $first_seq AND $last_seq AND seq IN (SELECT d.seq FROM duplicate_logs AS d)
