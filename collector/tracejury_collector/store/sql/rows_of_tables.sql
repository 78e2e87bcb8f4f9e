-- How many rows the tables hold, those marked as superseded too.
SELECT
    (SELECT count(*) FROM base.spans) AS spans,
    (SELECT count(*) FROM base.logs) AS logs,
    (SELECT count(DISTINCT trace_id) FROM base.traces) AS traces,
    (SELECT count(*) FROM base.decisions) AS decisions,
    (SELECT count(*) FROM base.results) AS results,
    (SELECT count(*) FROM base.labels) AS labels
