-- How many messages of alerts there are by what became of them.
SELECT status, count(*) AS deliveries FROM base.alert_deliveries GROUP BY status
