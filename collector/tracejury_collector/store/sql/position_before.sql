-- The position after which there are so many results.
SELECT position FROM base.results ORDER BY position DESC LIMIT 1 OFFSET $keep
