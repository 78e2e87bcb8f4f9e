DELETE FROM base.jobs WHERE decision_id IN (SELECT f.decision_id FROM finished_jobs AS f)
