"""The documents of the REST API, as the client reads them and the service writes them.

Times are RFC 3339 text in UTC with nanoseconds. Fields that a newer service adds are kept.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from tracejury.trace import TraceKind

Item = TypeVar("Item")
TraceStatus = Literal["open", "complete"]


class Document(BaseModel):
    """What the service answers; unknown fields are kept."""

    model_config = ConfigDict(extra="allow")


class Problem(Document):
    """Why a request failed (RFC 9457): a machine code, what was wrong, and the remedy."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str = ""
    remedy: str = ""


class Page(Document, Generic[Item]):
    """One page of a list; `next_cursor` is null on the last one."""

    items: list[Item]
    next_cursor: str | None = None


class TraceSummary(Document):
    """One trace in a list: its current revision, or what is known while it is open.

    Totals are null while the trace is open. `input` and `output` are cut to 500 characters.
    """

    trace_id: str
    revision: int | None = None
    status: TraceStatus
    completed_by: str | None = None
    name: str | None = None
    kind: TraceKind | None = None
    project: str = ""
    service_name: str = ""
    agent_name: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    start_time: str | None = None
    latency_ms: float | None = None
    span_count: int | None = None
    llm_calls: int | None = None
    tool_calls: int | None = None
    error_count: int | None = None
    has_error: bool | None = None
    models: list[str] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    input: str | None = None
    output: str | None = None


class SessionTotals(Document):
    """What the traces of one session in one project add up to.

    Calls, errors, tokens, cost, models, input and output are those of its runs: traces of kind
    agent, llm or tool. `cost_usd` is null where a run with tokens has no known cost.
    """

    session_id: str
    project: str
    start_time: str | None = None
    end_time: str | None = None
    duration_ms: float | None = None
    runs: int
    span_count: int
    llm_calls: int
    tool_calls: int
    error_count: int
    traces_with_error: int
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    user_id: str | None = None
    user_ids: list[str] = []
    service_names: list[str] = []
    agent_names: list[str] = []
    models: list[str] = []
    input: str | None = None
    output: str | None = None


class SessionSummary(SessionTotals):
    """One session in a list; `input` and `output` are cut to 500 characters."""

    traces: int


class SessionDetail(SessionTotals):
    """One session with its traces in order of start; texts are cut to 4000 characters.

    `truncated` says that it has more traces, earlier ones, than are shown.
    """

    trace_count: int
    traces: list[TraceSummary]
    truncated: bool = False
    other_projects: list[str] = []


class Result(Document):
    """One evaluator's outcome on one revision of a trace."""

    evaluator: str
    type: str
    outcome: Literal["score", "skip", "failure"]
    score: float | None = None
    verdict: Literal["pass", "partial", "fail"] | None = None
    reason: str = ""
    trace_id: str
    revision: int
    rule: str = ""
    run_id: str = ""
    trigger: str = ""
    hits: list[str] = []
    misses: list[str] = []
    details: Any = None
    evidence: list[str] = []
    error_type: str | None = None
    error_message: str | None = None
    duration_ms: float | None = None
    cost_usd: float | None = None
    created_at: str
    superseded: bool = False


class Decision(Document):
    """What one rule decided on one revision of a trace, and why."""

    decision_id: str
    rule: str
    revision: int
    outcome: str
    reason: str = ""
    stratum: str | None = None
    probability: float | None = None
    evaluators: list[str] = []
    run_id: str = ""
    decided_at: str


class Flags(Document):
    """What stands between the trace and what really happened."""

    redacted: bool = False
    truncated: bool = False
    not_captured: bool = False


class Usage(Document):
    """Token counts; null where nothing was recorded."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None


class ToolCall(Document):
    """One tool call; `arguments` and `output` are data where they were JSON, else text."""

    name: str
    arguments: Any = None
    output: Any = None
    error: Any = None
    id: str = ""
    start_time: str | None = None
    latency_ms: float | None = None
    span_id: str = ""
    source: Literal["span", "message", "both"] = "span"
    requested_by_span_id: str = ""
    attempt: int = 1


class Turn(Document):
    """One user input and the final answer to it."""

    input: str = ""
    output: str = ""
    span_id: str = ""
    start_time: str | None = None
    end_time: str | None = None
    error: Any = None


class TraceDetail(Document):
    """A trace, rebuilt from its spans, with what was decided and judged on it."""

    trace_id: str
    revision: int
    status: TraceStatus
    completed_by: str | None = None
    name: str = ""
    kind: TraceKind
    flags: Flags
    input_text: str = ""
    output_text: str = ""
    agent_name: str = ""
    service_name: str = ""
    session_id: str = ""
    user_id: str = ""
    start_time: str | None = None
    end_time: str | None = None
    latency_ms: float | None = None
    has_error: bool = False
    error_count: int = 0
    usage: Usage
    cost_usd: float | None = None
    cost_source: str | None = None
    models: list[str] = []
    tool_calls: list[ToolCall] = []
    turns: list[Turn] = []
    llm_calls: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    documents: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    dialects: list[str] = []
    diagnostics: list[str] = []
    results: list[Result] = []
    decisions: list[Decision] = []


class Column(Document):
    """A column of a query's answer, with its DuckDB type."""

    name: str
    type: str


class SqlResult(Document):
    """The answer to a query; `truncated` says that more rows match than the limit."""

    columns: list[Column]
    rows: list[list[Any]]
    row_count: int
    truncated: bool = False
    elapsed_ms: float = 0.0


class Imported(Document):
    """What became of an imported file: received = stored + duplicate + rejected."""

    received: int = Field(description="spans and log records found")
    stored: int
    duplicate: int = 0
    rejected: int = 0
    messages: list[str] = []


class DialectSeen(Document):
    """A dialect: what of a trace it gives, and how many of the newest spans follow it."""

    name: str
    label: str
    origin: Literal["built_in", "file"]
    file: str | None = None
    source: str = ""
    scopes: list[str] = []
    prefixes: list[str] = []
    spans: int = 0
    last_seen: str | None = None
    fields: list[str] = Field(default=[], description="the fields that its rules find")
    missing: list[str] = Field(default=[], description="what its library does not record")
    enable: str = Field(default="", description="what to set to record more")


class EvaluatorType(Document):
    """A type of evaluator; the schemas are JSON Schema of its config and of a case's criteria."""

    type: str
    label: str
    description: str = ""
    config_schema: dict[str, Any] = {}
    criteria_schema: dict[str, Any] = {}
    builtin: bool
    origin: Literal["built_in", "entry_point", "module", "file"] = "built_in"
    plugin: str | None = Field(default=None, description="the plugin that brought it")


class UnreadAttribute(Document):
    """An attribute or event that looks like GenAI content and that no rule reads.

    Scope, key and example come from who sent them: what could steer a terminal, open a tag or
    begin a formula is escaped, and the example is cut to 200 characters.
    """

    scope: str
    key: str
    kind: Literal["attribute", "event"] = "attribute"
    spans: int
    example: str = ""
    first_seen: str
    last_seen: str


class DialectReport(Document):
    """The dialects in order of recognition, and what none of them reads, most frequent first."""

    dialects: list[DialectSeen]
    spans_without_dialect: int = 0
    unread: list[UnreadAttribute] = []
    unread_count: int = Field(default=0, description="unread attributes in all")


class Health(Document):
    """Whether the service answers, and what it is."""

    status: Literal["ok", "starting"]
    version: str = ""
    uptime_s: float = 0.0
    listen: dict[str, str] = {}


class Explanation(Document):
    """Why a trace was, or was not, judged: in words, and as data."""

    trace_id: str
    lines: list[str] = []
