-- Open traces by where they begin (a JSON array of numbers), newest first, as in "page_begun".
SELECT
    o.trace_id, 0 AS revision, 'open' AS status, o.project, o.service_name, o.first_seq, o.last_seq,
    epoch_ns(o.first_seen) AS start_time_ns, o.span_count
FROM base.open_traces AS o
WHERE
    o.first_seq BETWEEN $low AND $high
    AND o.first_seq IN (SELECT value::BIGINT FROM json_each($first_seqs))
ORDER BY o.first_seq DESC
