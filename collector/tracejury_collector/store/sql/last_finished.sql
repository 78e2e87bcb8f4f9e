SELECT epoch_ns(max(completed_at)) AS finished_ns FROM base.traces
