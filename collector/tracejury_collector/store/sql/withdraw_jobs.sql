-- Take the targets in `removing` (id) from the jury.
DELETE FROM base.jobs AS j WHERE j.target_id IN (SELECT r.id FROM removing AS r)
