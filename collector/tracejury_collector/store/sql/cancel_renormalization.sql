UPDATE base.renormalizations SET state = 'canceled', ended_at = make_timestamp_ns($now_ns::BIGINT)
WHERE id = $id AND state = 'running'
