SELECT count(*) FROM base.jobs
