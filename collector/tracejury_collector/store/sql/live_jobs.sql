SELECT j.decision_id FROM base.jobs AS j SEMI JOIN wanted_jobs AS w ON w.decision_id = j.decision_id
