-- Whether something was said of a trace or a span of it: of few is, and this is planned in a fraction
-- of the time of a page of labels.
SELECT 1 FROM base.labels WHERE trace_id = $trace_id LIMIT 1
