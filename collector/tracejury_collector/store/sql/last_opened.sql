-- Where the youngest open trace began; -1 without any.
SELECT coalesce(max(first_seq), -1) AS first_seq FROM base.open_traces
