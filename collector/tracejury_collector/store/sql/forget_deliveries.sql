-- Only the newest finished messages are kept.
DELETE FROM base.alert_deliveries
WHERE
    status <> 'waiting'
    AND created_at < (
        SELECT created_at FROM base.alert_deliveries
        ORDER BY created_at DESC LIMIT 1 OFFSET ?
    )
