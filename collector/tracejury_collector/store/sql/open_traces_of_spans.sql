-- Note the arrival of the rows of the Arrow table `batch`: one row per trace.
MERGE INTO base.open_traces AS o
USING (
    SELECT
        trace_id,
        arg_min(project, seq) AS project,
        arg_min(service_name, seq) AS service_name,
        max(received_at) AS seen,
        min(seq) AS first_seq,
        max(seq) AS last_seq,
        bool_or(parent_span_id = '') AS root_seen,
        bool_or(parent_span_id = '' AND end_time_unix_nano > 0) AS root_ended,
        bool_or(marker) AS marker_seen,
        count(*) AS span_count
    FROM batch
    GROUP BY trace_id
) AS b
ON o.trace_id = b.trace_id
WHEN MATCHED THEN UPDATE SET
    last_seen = b.seen,
    last_seq = b.last_seq,
    root_seen = o.root_seen OR b.root_seen,
    root_ended = o.root_ended OR b.root_ended,
    marker_seen = o.marker_seen OR b.marker_seen,
    span_count = o.span_count + b.span_count
WHEN NOT MATCHED THEN INSERT (
    trace_id, project, service_name, first_seen, last_seen, first_seq, last_seq, root_seen,
    root_ended, marker_seen, span_count
) VALUES (
    b.trace_id, b.project, b.service_name, b.seen, b.seen, b.first_seq, b.last_seq, b.root_seen,
    b.root_ended, b.marker_seen, b.span_count
)
