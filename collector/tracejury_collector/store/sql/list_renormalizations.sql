SELECT
    id, epoch_ns(requested_at) AS requested_at_ns, epoch_ns(since) AS since_ns,
    epoch_ns(until) AS until_ns, dry_run, first_seq, last_seq, next_seq, state,
    report::VARCHAR AS report, error, epoch_ns(ended_at) AS ended_at_ns
FROM base.renormalizations
WHERE ($id::VARCHAR IS NULL OR id = $id) AND ($state::VARCHAR IS NULL OR state = $state)
ORDER BY requested_at DESC, id
LIMIT 100
