-- Spans by project, and the characters that those among the newest $sample have on average; NULL for
-- projects with none among them.
WITH sampled AS (
    SELECT
        project,
        avg(
            strlen(attributes::VARCHAR) + strlen(events::VARCHAR) + coalesce(strlen(input), 0)
            + coalesce(strlen(output), 0)
        ) AS characters
    FROM base.spans
    WHERE seq > (SELECT max(seq) - $sample FROM base.spans)
    GROUP BY project
)
SELECT s.project, s.spans, s.oldest_ns, s.newest_ns, c.characters
FROM (
    SELECT
        project, count(*) AS spans, epoch_ns(min(received_at)) AS oldest_ns,
        epoch_ns(max(received_at)) AS newest_ns
    FROM base.spans
    GROUP BY project
) AS s
LEFT JOIN sampled AS c ON c.project = s.project
ORDER BY s.spans DESC, s.project
