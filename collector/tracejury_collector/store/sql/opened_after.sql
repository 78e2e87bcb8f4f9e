-- The open traces that began after `after_seq`.
SELECT trace_id, first_seq FROM base.open_traces WHERE first_seq > $after_seq
