-- How many of the latest traces of sessions were looked at, and when the first of them was finished.
SELECT count(*) AS traces, epoch_ns(min(completed_at)) AS floor_ns
FROM (
    SELECT completed_at
    FROM base.traces
    WHERE session_id IS NOT NULL AND completed_at <= make_timestamp_ns($before_ns)
    ORDER BY completed_at DESC
    LIMIT $traces
)
