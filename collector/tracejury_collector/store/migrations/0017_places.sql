-- Where rows about a trace lie. Its id is random, so that a search by it reads a whole column; but
-- rows come nearly in the order in which traces begin, so that DuckDB, which knows the least and the
-- greatest value of every few thousand rows, finds them by `first_seq` without reading the others.
-- The table of traces itself is searched by 8 bytes of the id, half as many milliseconds as by all.
CREATE MACRO base.id_key(id) AS coalesce(TRY_CAST('0x' || right(id, 16) AS UBIGINT), 0);

ALTER TABLE base.traces ADD COLUMN id_key UBIGINT;
UPDATE base.traces SET id_key = base.id_key(trace_id);

-- NULL on decisions and results about sessions from before there was a place.
ALTER TABLE base.decisions ADD COLUMN first_seq BIGINT;
UPDATE base.decisions AS d SET first_seq = t.first_seq
FROM base.traces AS t WHERE t.trace_id = d.target_id AND t.revision = d.revision;

ALTER TABLE base.results ADD COLUMN first_seq BIGINT;
UPDATE base.results AS r SET first_seq = t.first_seq
FROM base.traces AS t WHERE t.trace_id = r.trace_id AND t.revision = r.revision;

ALTER TABLE base.tool_calls ADD COLUMN first_seq BIGINT;
UPDATE base.tool_calls AS c SET first_seq = t.first_seq
FROM base.traces AS t WHERE t.trace_id = c.trace_id AND t.revision = c.revision;

ALTER TABLE base.llm_calls ADD COLUMN first_seq BIGINT;
UPDATE base.llm_calls AS c SET first_seq = t.first_seq
FROM base.traces AS t WHERE t.trace_id = c.trace_id AND t.revision = c.revision;

ALTER TABLE base.messages ADD COLUMN first_seq BIGINT;
UPDATE base.messages AS m SET first_seq = t.first_seq
FROM base.traces AS t WHERE t.trace_id = m.trace_id AND t.revision = m.revision;

ALTER TABLE base.documents ADD COLUMN first_seq BIGINT;
UPDATE base.documents AS d SET first_seq = t.first_seq
FROM base.traces AS t WHERE t.trace_id = d.trace_id AND t.revision = d.revision;

CREATE OR REPLACE VIEW main.llm_calls AS
SELECT * EXCLUDE (superseded, first_seq) FROM base.llm_calls WHERE NOT superseded;
CREATE OR REPLACE VIEW main.tool_calls AS
SELECT * EXCLUDE (superseded, first_seq) FROM base.tool_calls WHERE NOT superseded;
CREATE OR REPLACE VIEW main.messages AS
SELECT * EXCLUDE (superseded, first_seq) FROM base.messages WHERE NOT superseded;
CREATE OR REPLACE VIEW main.documents AS
SELECT * EXCLUDE (superseded, first_seq) FROM base.documents WHERE NOT superseded;

COMMENT ON VIEW main.llm_calls IS 'Calls of language models in finished traces, in order.';
COMMENT ON VIEW main.tool_calls IS 'Calls of tools in finished traces, in order.';
COMMENT ON VIEW main.messages IS 'Messages of finished traces, in order.';
COMMENT ON VIEW main.documents IS 'Documents that finished traces retrieved, in order.';
