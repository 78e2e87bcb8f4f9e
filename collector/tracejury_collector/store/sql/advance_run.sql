-- Gives no row where the run was ended meanwhile, or where another writer advanced it.
UPDATE base.runs SET before_seq = $before_seq, counts = $counts::JSON
WHERE run_id = $run_id AND state = 'running' AND before_seq = $from_seq
RETURNING run_id
