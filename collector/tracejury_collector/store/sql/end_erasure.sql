-- Note that an erasure is done; whom it was about is forgotten with it.
UPDATE base.erasures
SET state = 'done', user_id = NULL, finished_at = make_timestamp_ns($now_ns::BIGINT), report = $report
WHERE id = $id
