-- Decisions on live traffic that wait for the jury; those of runs keep nobody from being judged.
SELECT count(*) AS jobs FROM base.jobs WHERE run_id = ''
