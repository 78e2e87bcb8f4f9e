-- Gives no row where the run was ended meanwhile.
UPDATE base.runs SET before_seq = $before_seq, counts = $counts::JSON
WHERE run_id = $run_id AND state = 'running'
RETURNING run_id
