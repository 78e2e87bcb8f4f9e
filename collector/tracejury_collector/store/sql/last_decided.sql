SELECT coalesce(epoch_ns(max(decided_at)), 0) FROM base.jobs
