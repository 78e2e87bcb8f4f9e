-- Tables live in schema "base", written only by the store; users read the views of schema "main".
CREATE TABLE base.spans (
    seq BIGINT NOT NULL,
    received_at TIMESTAMP_NS NOT NULL,
    trace_id VARCHAR NOT NULL,
    span_id VARCHAR NOT NULL,
    parent_span_id VARCHAR NOT NULL,
    project VARCHAR NOT NULL,
    service_name VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    otel_kind VARCHAR NOT NULL,
    start_time TIMESTAMP_NS,
    end_time TIMESTAMP_NS,
    duration_ns BIGINT,
    status VARCHAR NOT NULL,
    status_message VARCHAR NOT NULL,
    error_type VARCHAR,
    error_message VARCHAR,
    dialect VARCHAR,
    session_id VARCHAR,
    user_id VARCHAR,
    agent_name VARCHAR,
    provider VARCHAR,
    model VARCHAR,
    operation VARCHAR,
    input VARCHAR USING COMPRESSION zstd,
    output VARCHAR USING COMPRESSION zstd,
    tool_name VARCHAR,
    tool_call_id VARCHAR,
    tool_arguments VARCHAR USING COMPRESSION zstd,
    tool_result VARCHAR USING COMPRESSION zstd,
    -- Where the text above stands verbatim in `attributes`, as a path; then it is not kept twice.
    input_path VARCHAR,
    output_path VARCHAR,
    tool_arguments_path VARCHAR,
    tool_result_path VARCHAR,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cache_read_tokens BIGINT,
    cache_write_tokens BIGINT,
    reasoning_tokens BIGINT,
    cost_usd DOUBLE,
    attributes JSON NOT NULL USING COMPRESSION zstd,
    events JSON NOT NULL USING COMPRESSION zstd,
    links JSON NOT NULL,
    resource JSON NOT NULL,
    scope JSON NOT NULL,
    resource_schema_url VARCHAR NOT NULL,
    scope_schema_url VARCHAR NOT NULL,
    trace_state VARCHAR NOT NULL,
    flags UINTEGER NOT NULL,
    dropped_attributes_count UINTEGER NOT NULL,
    dropped_events_count UINTEGER NOT NULL,
    dropped_links_count UINTEGER NOT NULL,
    start_time_unix_nano UBIGINT NOT NULL,
    end_time_unix_nano UBIGINT NOT NULL,
    content_hash_high UBIGINT NOT NULL,
    content_hash_low UBIGINT NOT NULL
);

CREATE TABLE base.logs (
    seq BIGINT NOT NULL,
    received_at TIMESTAMP_NS NOT NULL,
    trace_id VARCHAR NOT NULL,
    span_id VARCHAR NOT NULL,
    project VARCHAR NOT NULL,
    service_name VARCHAR NOT NULL,
    event_name VARCHAR NOT NULL,
    time TIMESTAMP_NS,
    observed_time TIMESTAMP_NS,
    severity_number INTEGER NOT NULL,
    severity_text VARCHAR NOT NULL,
    body JSON NOT NULL USING COMPRESSION zstd,
    attributes JSON NOT NULL USING COMPRESSION zstd,
    resource JSON NOT NULL,
    scope JSON NOT NULL,
    resource_schema_url VARCHAR NOT NULL,
    scope_schema_url VARCHAR NOT NULL,
    flags UINTEGER NOT NULL,
    dropped_attributes_count UINTEGER NOT NULL,
    time_unix_nano UBIGINT NOT NULL,
    observed_time_unix_nano UBIGINT NOT NULL,
    content_hash_high UBIGINT NOT NULL,
    content_hash_low UBIGINT NOT NULL
);

-- What one commit brought of a trace that no revision holds yet; only added to and deleted from.
CREATE TABLE base.arrivals (
    trace_id VARCHAR NOT NULL,
    project VARCHAR NOT NULL,
    service_name VARCHAR NOT NULL,
    seen TIMESTAMP_NS NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    root_seen BOOLEAN NOT NULL,
    root_ended BOOLEAN NOT NULL,
    marker_seen BOOLEAN NOT NULL,
    span_count BIGINT NOT NULL
);

CREATE VIEW base.open_traces AS
SELECT
    trace_id,
    arg_min(project, first_seq) AS project,
    arg_min(service_name, first_seq) AS service_name,
    min(seen) AS first_seen,
    max(seen) AS last_seen,
    min(first_seq) AS first_seq,
    max(last_seq) AS last_seq,
    bool_or(root_seen) AS root_seen,
    bool_or(root_ended) AS root_ended,
    bool_or(marker_seen) AS marker_seen,
    sum(span_count)::BIGINT AS span_count
FROM base.arrivals
GROUP BY trace_id;

CREATE TABLE base.traces (
    trace_id VARCHAR NOT NULL,
    revision INTEGER NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    project VARCHAR NOT NULL,
    service_name VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    agent_name VARCHAR,
    session_id VARCHAR,
    user_id VARCHAR,
    start_time TIMESTAMP_NS,
    end_time TIMESTAMP_NS,
    latency_ms DOUBLE,
    span_count BIGINT NOT NULL,
    llm_calls BIGINT NOT NULL,
    tool_calls BIGINT NOT NULL,
    error_count BIGINT NOT NULL,
    has_error BOOLEAN NOT NULL,
    input VARCHAR USING COMPRESSION zstd,
    output VARCHAR USING COMPRESSION zstd,
    models VARCHAR[] NOT NULL,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cache_read_tokens BIGINT,
    cache_write_tokens BIGINT,
    reasoning_tokens BIGINT,
    total_tokens BIGINT,
    cost_usd DOUBLE,
    has_root BOOLEAN NOT NULL,
    root_ended BOOLEAN NOT NULL,
    flags VARCHAR[] NOT NULL,
    completed_by VARCHAR NOT NULL,
    completed_at TIMESTAMP_NS NOT NULL,
    superseded BOOLEAN NOT NULL
);

CREATE TABLE base.tool_calls (
    trace_id VARCHAR NOT NULL,
    revision INTEGER NOT NULL,
    position INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    arguments JSON USING COMPRESSION zstd,
    output JSON USING COMPRESSION zstd,
    error_type VARCHAR,
    error_message VARCHAR,
    id VARCHAR,
    start_time TIMESTAMP_NS,
    latency_ms DOUBLE,
    span_id VARCHAR,
    source VARCHAR NOT NULL,
    attempt INTEGER NOT NULL,
    superseded BOOLEAN NOT NULL
);

CREATE TABLE base.llm_calls (
    trace_id VARCHAR NOT NULL,
    revision INTEGER NOT NULL,
    position INTEGER NOT NULL,
    span_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    operation VARCHAR,
    provider VARCHAR,
    model VARCHAR,
    input JSON USING COMPRESSION zstd,
    output JSON USING COMPRESSION zstd,
    finish_reasons VARCHAR[] NOT NULL,
    params JSON,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cache_read_tokens BIGINT,
    cache_write_tokens BIGINT,
    reasoning_tokens BIGINT,
    cost_usd DOUBLE,
    cost_source VARCHAR,
    start_time TIMESTAMP_NS,
    latency_ms DOUBLE,
    ttft_ms DOUBLE,
    error_type VARCHAR,
    error_message VARCHAR,
    superseded BOOLEAN NOT NULL
);

CREATE TABLE base.messages (
    trace_id VARCHAR NOT NULL,
    revision INTEGER NOT NULL,
    position INTEGER NOT NULL,
    role VARCHAR NOT NULL,
    name VARCHAR,
    text VARCHAR USING COMPRESSION zstd,
    parts JSON NOT NULL USING COMPRESSION zstd,
    finish_reason VARCHAR,
    superseded BOOLEAN NOT NULL
);

CREATE TABLE base.documents (
    trace_id VARCHAR NOT NULL,
    revision INTEGER NOT NULL,
    position INTEGER NOT NULL,
    id VARCHAR,
    content VARCHAR USING COMPRESSION zstd,
    score DOUBLE,
    metadata JSON,
    query VARCHAR,
    span_id VARCHAR,
    superseded BOOLEAN NOT NULL
);

CREATE TABLE base.decisions (
    decision_id VARCHAR NOT NULL,
    rule VARCHAR NOT NULL,
    rule_fingerprint VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    target_kind VARCHAR NOT NULL,
    target_id VARCHAR NOT NULL,
    revision INTEGER NOT NULL,
    outcome VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    stratum VARCHAR,
    probability DOUBLE,
    evaluators VARCHAR[] NOT NULL,
    decided_at TIMESTAMP_NS NOT NULL
);

-- Selected decisions that still lack a result: written with the decision, deleted with the last result.
CREATE TABLE base.jobs (
    decision_id VARCHAR NOT NULL,
    decided_at TIMESTAMP_NS NOT NULL,
    rule VARCHAR NOT NULL,
    rule_fingerprint VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    target_kind VARCHAR NOT NULL,
    target_id VARCHAR NOT NULL,
    trace_id VARCHAR NOT NULL,
    revision INTEGER NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    evaluators VARCHAR[] NOT NULL,
    fingerprints VARCHAR[] NOT NULL
);

CREATE TABLE base.attempts (
    decision_id VARCHAR NOT NULL,
    evaluator VARCHAR NOT NULL,
    evaluator_fingerprint VARCHAR NOT NULL,
    n INTEGER NOT NULL,
    started_at TIMESTAMP_NS NOT NULL
);

CREATE TABLE base.results (
    decision_id VARCHAR NOT NULL,
    evaluator VARCHAR NOT NULL,
    type VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    criteria_hash VARCHAR NOT NULL,
    case_id VARCHAR NOT NULL,
    target_kind VARCHAR NOT NULL,
    target_id VARCHAR NOT NULL,
    trace_id VARCHAR NOT NULL,
    revision INTEGER NOT NULL,
    rule VARCHAR NOT NULL,
    rule_fingerprint VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    trigger VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL,
    score DOUBLE,
    verdict VARCHAR,
    reason VARCHAR NOT NULL,
    hits VARCHAR[] NOT NULL,
    misses VARCHAR[] NOT NULL,
    details JSON NOT NULL USING COMPRESSION zstd,
    evidence VARCHAR[] NOT NULL,
    error_type VARCHAR,
    error_message VARCHAR,
    duration_ms DOUBLE,
    cost_usd DOUBLE,
    input_tokens BIGINT,
    output_tokens BIGINT,
    created_at TIMESTAMP_NS NOT NULL,
    superseded BOOLEAN NOT NULL
);

-- One row: the number of the last commit, and what was counted up to it.
CREATE TABLE base.ledger (
    commit_id BIGINT NOT NULL,
    counters JSON NOT NULL
);
INSERT INTO base.ledger VALUES (0, '{}');

CREATE VIEW base.counters AS
SELECT
    split_part(key, '.', 2) AS name,
    split_part(key, '.', 1) AS signal,
    value::UBIGINT AS value
FROM base.ledger, json_each(counters);
