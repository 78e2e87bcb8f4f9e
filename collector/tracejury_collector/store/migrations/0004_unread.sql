-- What the dialects do not read: names and an example as `tracejury.dialects.unread` escapes them.
CREATE TABLE base.unread (
    scope VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    spans BIGINT NOT NULL,
    example VARCHAR NOT NULL,
    first_seen TIMESTAMP_NS NOT NULL,
    last_seen TIMESTAMP_NS NOT NULL
);

CREATE VIEW main.unread_attributes AS
SELECT scope, key, spans, example, first_seen, last_seen FROM base.unread;

COMMENT ON VIEW main.unread_attributes IS
'Attributes and events that look like GenAI content and that no rule reads.';
