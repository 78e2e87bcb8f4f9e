-- Alerts that are no longer configured.
DELETE FROM base.alerts WHERE alert NOT IN (SELECT value ->> '$' FROM json_each(?::JSON))
