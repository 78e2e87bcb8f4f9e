SELECT run_id, count(*) AS jobs FROM base.jobs WHERE run_id <> '' GROUP BY run_id
