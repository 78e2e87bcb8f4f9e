DELETE FROM base.jobs WHERE trace_id IN (SELECT s.trace_id FROM superseding AS s)
