-- What is known of each alert.
SELECT
    alert, status, epoch_ns(since) AS since_ns, epoch_ns(checked_at) AS checked_at_ns,
    epoch_ns(notified_at) AS notified_at_ns, announced, summary, error
FROM base.alerts
