-- The key of each revision's trace, in any order.
SELECT id_key FROM base.traces
