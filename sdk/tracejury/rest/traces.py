"""Traces and sessions as the API shows them."""

from __future__ import annotations

from typing import Any, Literal

from tracejury.rest.base import Document
from tracejury.rest.judging import Decision, Result
from tracejury.rest.labels import Label
from tracejury.trace import TraceKind

TraceStatus = Literal["open", "complete"]


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
    spans_deleted_at: str | None = None


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

    `truncated` says that it has more traces, earlier ones, than are shown. `results` and
    `decisions` are those on the session as a whole.
    """

    trace_count: int
    traces: list[TraceSummary]
    truncated: bool = False
    other_projects: list[str] = []
    results: list[Result] = []
    decisions: list[Decision] = []
    labels: list[Label] = []


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
    """A trace, rebuilt from its spans, with what was decided and judged on it.

    Where `spans_deleted_at` says that its spans were deleted, only its totals are left.
    """

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
    labels: list[Label] = []
    spans_deleted_at: str | None = None


class Explanation(Document):
    """Why a trace was, or was not, judged: in words, and as data."""

    trace_id: str
    lines: list[str] = []


class SessionExplanation(Document):
    """Why a session was, or was not, judged as a whole: in words, and as data."""

    session_id: str
    project: str
    target_id: str
    lines: list[str] = []
