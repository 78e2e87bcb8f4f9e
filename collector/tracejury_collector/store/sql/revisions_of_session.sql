-- Every revision of a session, newest first.
SELECT
    revision, traces, members, epoch_ns(completed_at) AS completed_at_ns, superseded, first_seq,
    last_seq
FROM base.session_revisions
WHERE target_id = $target_id
ORDER BY revision DESC
