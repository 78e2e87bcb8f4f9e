-- How many traces are not finished.
SELECT count(*) AS open_traces FROM base.open_traces
