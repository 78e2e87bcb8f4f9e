-- A label was deleted: it shall not come again with its span.
INSERT INTO base.deleted_labels VALUES ($label_id, make_timestamp_ns($deleted_ns::BIGINT))
