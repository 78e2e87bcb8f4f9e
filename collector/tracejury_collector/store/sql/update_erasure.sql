UPDATE base.erasures SET report = $report WHERE id = $id
