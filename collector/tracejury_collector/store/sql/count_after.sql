-- How many results come after a position.
SELECT count(*) AS results FROM base.results WHERE position > $after
