-- How far it has come; one that was canceled meanwhile stays canceled.
UPDATE base.renormalizations SET
    next_seq = $next_seq,
    report = $report,
    error = $error,
    state = CASE WHEN state = 'running' THEN $state ELSE state END,
    ended_at = CASE
        WHEN state = 'running' AND $state <> 'running' THEN make_timestamp_ns($now_ns::BIGINT)
        ELSE ended_at
    END
WHERE id = $id
