-- The sessions named in `ids`, a JSON array; all of them where it is NULL. Who, when and how many is
-- said of all traces in a session; totals are those of its runs, so that what set an agent up or
-- evaluated it does not add to them.
CREATE MACRO base.sessions_of(ids) AS TABLE
SELECT
    session_id,
    project,
    min(start_time) AS start_time,
    max(coalesce(end_time, start_time)) AS end_time,
    count(*) AS traces,
    sum(span_count)::BIGINT AS span_count,
    coalesce(sum(llm_calls) FILTER (is_run), 0)::BIGINT AS llm_calls,
    coalesce(sum(tool_calls) FILTER (is_run), 0)::BIGINT AS tool_calls,
    coalesce(sum(error_count) FILTER (is_run), 0)::BIGINT AS error_count,
    count_if(is_run AND has_error)::BIGINT AS traces_with_error,
    (sum(input_tokens) FILTER (is_run))::BIGINT AS input_tokens,
    (sum(output_tokens) FILTER (is_run))::BIGINT AS output_tokens,
    (sum(total_tokens) FILTER (is_run))::BIGINT AS total_tokens,
    CASE
        WHEN count_if(is_run AND cost_usd IS NULL AND total_tokens > 0) = 0
            THEN sum(cost_usd) FILTER (is_run)
    END AS cost_usd,
    CASE WHEN min(user_id) = max(user_id) THEN min(user_id) END AS user_id,
    coalesce(map_keys(histogram(nullif(service_name, ''))), []) AS service_names,
    count_if(is_run)::BIGINT AS runs,
    (epoch_ns(max(coalesce(end_time, start_time))) - epoch_ns(min(start_time))) / 1e6
        AS duration_ms,
    coalesce(map_keys(histogram(user_id)), []) AS user_ids,
    coalesce(map_keys(histogram(agent_name)), []) AS agent_names,
    coalesce(list_sort(list_distinct(flatten(list(models) FILTER (is_run)))), []) AS models,
    arg_min(input, (start_time, first_seq)) FILTER (is_run) AS input,
    arg_max(output, (start_time, first_seq)) FILTER (is_run) AS output
FROM (
    SELECT *, kind IN ('agent', 'llm', 'tool') AS is_run
    FROM base.traces
    WHERE
        NOT superseded
        AND session_id IS NOT NULL
        AND (
            ids IS NULL
            -- First where they lie, so that no other column is read of the traces in between.
            OR first_seq IN (
                SELECT first_seq FROM base.traces
                WHERE NOT superseded AND session_id IN (SELECT value ->> '$' FROM json_each(ids))
            )
        )
)
GROUP BY session_id, project;

CREATE OR REPLACE VIEW main.sessions AS FROM base.sessions_of(NULL);

COMMENT ON VIEW main.sessions IS 'Finished traces grouped by session and project.';
COMMENT ON COLUMN main.sessions.traces IS 'Traces in it of every kind; see runs.';
COMMENT ON COLUMN main.sessions.runs IS 'Traces of kind agent, llm or tool: totals are theirs.';
COMMENT ON COLUMN main.sessions.cost_usd IS 'NULL when a run with tokens has no known cost.';
