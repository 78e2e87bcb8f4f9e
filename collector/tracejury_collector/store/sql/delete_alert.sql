DELETE FROM base.alerts WHERE alert = ?
