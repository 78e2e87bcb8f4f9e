-- The revisions that were finished between two positions: (trace_id, revision, first_seq).
SELECT trace_id, revision, first_seq FROM base.traces WHERE position > ? AND position <= ?
