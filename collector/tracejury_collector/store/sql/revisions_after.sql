-- The revisions that were finished after a position: (trace_id, revision, first_seq).
SELECT trace_id, revision, first_seq FROM base.traces WHERE position > ?
