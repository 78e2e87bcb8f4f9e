-- The newest messages, of one alert or of all.
SELECT
    delivery_id, alert, event, summary, status, attempts, http_status, error,
    epoch_ns(created_at) AS created_at_ns, epoch_ns(finished_at) AS finished_at_ns
FROM base.alert_deliveries
WHERE $alert::VARCHAR IS NULL OR alert = $alert
ORDER BY created_at DESC, delivery_id DESC
LIMIT $limit
