-- The position of the newest result.
SELECT coalesce(max(position), 0) AS position FROM base.results
