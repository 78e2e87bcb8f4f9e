MERGE INTO base.unread AS known
USING (
    SELECT
        unnest($scopes::VARCHAR[]) AS scope,
        unnest($keys::VARCHAR[]) AS key,
        unnest($spans::BIGINT[]) AS spans,
        unnest($examples::VARCHAR[]) AS example
) AS new
ON known.scope = new.scope AND known.key = new.key
WHEN MATCHED THEN UPDATE SET
    spans = known.spans + new.spans,
    last_seen = make_timestamp_ns($now_ns)
WHEN NOT MATCHED THEN INSERT VALUES (
    new.scope, new.key, new.spans, new.example,
    make_timestamp_ns($now_ns), make_timestamp_ns($now_ns)
)
