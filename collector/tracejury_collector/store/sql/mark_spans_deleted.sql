-- Note that what had arrived of the traces in `removing` (id) is gone, and the texts made of it.
UPDATE base.traces AS t
SET spans_deleted_at = make_timestamp_ns($found_ns::BIGINT), input = NULL, output = NULL
WHERE t.completed_at < make_timestamp_ns($found_ns::BIGINT) AND t.trace_id IN (SELECT r.id FROM removing AS r)
