SELECT
    run_id, epoch_ns(created_at) AS created_at_ns, epoch_ns(finished_at) AS finished_at_ns, state,
    rule, plan::VARCHAR AS plan, before_seq, targets, counts::VARCHAR AS counts, error
FROM base.runs
WHERE run_id = $run_id
