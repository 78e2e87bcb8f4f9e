DELETE FROM base.jobs WHERE run_id = $run_id
