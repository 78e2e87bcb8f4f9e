INSERT INTO base.erasures (id, user_id, project, requested_at, state, report)
VALUES ($id, $user_id, $project, make_timestamp_ns($requested_at_ns::BIGINT), 'running', $report)
