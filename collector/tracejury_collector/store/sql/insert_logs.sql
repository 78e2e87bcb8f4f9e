-- Store the rows of the Arrow table `batch`.
INSERT INTO base.logs (
    seq, received_at, trace_id, span_id, project, service_name, event_name, time, observed_time,
    severity_number, severity_text, body, attributes, resource, scope, resource_schema_url,
    scope_schema_url, flags, dropped_attributes_count, time_unix_nano, observed_time_unix_nano,
    content_hash_high, content_hash_low
)
SELECT
    seq, received_at, trace_id, span_id, project, service_name, event_name, time, observed_time,
    severity_number, severity_text, body, attributes, resource, scope, resource_schema_url,
    scope_schema_url, flags, dropped_attributes_count, time_unix_nano, observed_time_unix_nano,
    content_hash_high, content_hash_low
FROM batch
