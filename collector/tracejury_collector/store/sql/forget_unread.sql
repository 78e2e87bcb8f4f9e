DELETE FROM base.unread WHERE last_seen < make_timestamp_ns($before_ns) OR key IN (SELECT unnest($keys::VARCHAR[]))
