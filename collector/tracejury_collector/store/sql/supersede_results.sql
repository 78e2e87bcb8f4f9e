UPDATE base.results SET superseded = true
WHERE
    NOT superseded
    AND first_seq IN (SELECT s.first_seq FROM superseding AS s)
    AND trace_id IN (SELECT s.trace_id FROM superseding AS s)
