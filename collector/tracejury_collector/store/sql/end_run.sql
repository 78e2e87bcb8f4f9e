UPDATE base.runs
SET state = $state, error = $error, finished_at = make_timestamp_ns($finished_at_ns::BIGINT)
WHERE run_id = $run_id AND state = 'running'
RETURNING run_id
