SELECT count(*) AS jobs FROM base.jobs
