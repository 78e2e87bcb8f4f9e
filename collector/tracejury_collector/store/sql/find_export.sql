-- How far an export has come.
SELECT
    name, position, sent, rejected, dropped, epoch_ns(last_sent_at) AS last_sent_at_ns,
    epoch_ns(failing_since) AS failing_since_ns, last_error
FROM base.exports
WHERE name = $name
