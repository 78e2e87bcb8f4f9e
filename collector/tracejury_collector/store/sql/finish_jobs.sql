-- A job has ended when each of its evaluators has a result, whichever lane it came from.
DELETE FROM base.jobs WHERE decision_id IN (
    SELECT j.decision_id
    FROM base.jobs AS j
    JOIN (
        SELECT r.decision_id, count(DISTINCT r.evaluator) AS judged
        FROM base.results AS r
        SEMI JOIN new_results AS n ON n.decision_id = r.decision_id
        WHERE r.created_at >= make_timestamp_ns(?::BIGINT)
        GROUP BY ALL
    ) AS done ON done.decision_id = j.decision_id
    WHERE done.judged >= len(list_distinct(j.evaluators))
)
