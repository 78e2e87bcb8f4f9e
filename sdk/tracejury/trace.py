"""The rebuilt trace: what an agent did, in one shape for every framework.

Times are nanoseconds since the Unix epoch, UTC. Ids are lower-case hex text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SpanKind = Literal[
    "agent",
    "llm",
    "tool",
    "retriever",
    "reranker",
    "embedding",
    "workflow",
    "step",
    "guardrail",
    "evaluator",
    "memory",
    "prompt",
    "handoff",
    "mcp",
    "event",
    "unknown",
]
TraceKind = Literal["agent", "llm", "tool", "setup", "evaluator", "other"]
StatusCode = Literal["unset", "ok", "error"]
Role = Literal["system", "user", "assistant", "tool"]
PartType = Literal["text", "reasoning", "tool_call", "tool_result", "media", "refusal", "other"]
ToolCallSource = Literal["span", "message", "both"]
CostSource = Literal["reported", "estimated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """A span event as recorded."""

    name: str
    time_ns: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRecord:
    """A span as received: the raw material of assembly.

    `resource` and `scope_attributes` hold attributes; `parent_span_id` is "" for a root;
    `end_ns` is 0 while the span has not ended. `otel_kind` is the lower-case OTLP name
    ("internal", "server", "client", "producer", "consumer", "unspecified"). `trace_state` is
    that of W3C.
    """

    trace_id: str
    span_id: str
    parent_span_id: str = ""
    name: str = ""
    otel_kind: str = "unspecified"
    start_ns: int = 0
    end_ns: int = 0
    status: StatusCode = "unset"
    status_message: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    resource: Mapping[str, Any] = field(default_factory=dict)
    scope_name: str = ""
    scope_version: str = ""
    trace_state: str = ""
    seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """A log record that belongs to a trace; `span_id` is "" where it names no span."""

    trace_id: str
    span_id: str = ""
    event_name: str = ""
    time_ns: int = 0
    body: Any = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    resource: Mapping[str, Any] = field(default_factory=dict)
    scope_name: str = ""
    seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanError:
    """Why a span, call or run failed."""

    type: str = ""
    message: str = ""
    stack: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts; None where nothing was recorded. Input includes cached tokens."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """US dollars; `usd` is None where the price is unknown."""

    usd: float | None = None
    source: CostSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What stands between the trace and what really happened."""

    redacted: bool = False
    truncated: bool = False
    not_captured: bool = False


NO_USAGE = Usage()
NO_COST = Cost()
NO_FLAGS = Flags()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a message; which fields are set depends on `type`.

    text, reasoning, refusal: `text`. tool_call: `id`, `name`, `arguments`.
    tool_result: `id`, `name`, `output`, `is_error`. media, other: `raw`.
    """

    type: PartType
    text: str = ""
    id: str = ""
    name: str = ""
    arguments: Any = None
    output: Any = None
    is_error: bool = False
    raw: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation."""

    role: Role
    parts: tuple[Part, ...] = ()
    name: str = ""
    finish_reason: str = ""

    @property
    def text(self) -> str:
        """The text parts, joined by line breaks."""
        return "\n".join([p.text for p in self.parts if p.type == "text" and p.text])


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A retrieved or reranked document."""

    id: str = ""
    content: str = ""
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    query: str = ""
    span_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """A tool that the model was offered; `parameters` is its JSON Schema."""

    name: str
    description: str = ""
    parameters: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMCall:
    """One call of a model, counted once however many spans recorded it."""

    span_id: str
    name: str = ""
    operation: str = ""
    provider: str = ""
    model: str = ""
    input: tuple[Message, ...] = ()
    output: tuple[Message, ...] = ()
    tool_definitions: tuple[ToolDefinition, ...] = ()
    finish_reasons: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    response_id: str = ""
    usage: Usage = NO_USAGE
    cost: Cost = NO_COST
    start_ns: int = 0
    latency_ms: float | None = None
    ttft_ms: float | None = None
    error: SpanError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool call; `source` says where it was seen: its span, a message, or both.

    `arguments` and `output` are data where they were JSON, else text, None where not recorded.
    `attempt` counts the runs of one call id, from 1.
    """

    name: str
    arguments: Any = None
    output: Any = None
    output_text: str = ""
    error: SpanError | None = None
    id: str = ""
    start_ns: int = 0
    latency_ms: float | None = None
    span_id: str = ""
    requested_by_span_id: str = ""
    source: ToolCallSource = "span"
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One user input and the final answer to it."""

    input: str = ""
    output: str = ""
    span_id: str = ""
    start_ns: int = 0
    end_ns: int = 0
    error: SpanError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span with its canonical fields beside what was recorded."""

    span_id: str
    parent_span_id: str = ""
    name: str = ""
    kind: SpanKind = "unknown"
    dialect: str = ""
    start_ns: int = 0
    end_ns: int = 0
    latency_ms: float | None = None
    status: StatusCode = "unset"
    error: SpanError | None = None
    agent_name: str = ""
    provider: str = ""
    model: str = ""
    operation: str = ""
    input: str | None = None
    output: str | None = None
    tool_name: str = ""
    tool_call_id: str = ""
    usage: Usage = NO_USAGE
    cost: Cost = NO_COST
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    scope_name: str = ""
    flags: Flags = NO_FLAGS


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What one agent run did, rebuilt from its spans; spans are in order of start."""

    trace_id: str
    revision: int = 1
    name: str = ""
    kind: TraceKind = "other"
    flags: Flags = NO_FLAGS
    input_text: str = ""
    output_text: str = ""
    agent_name: str = ""
    service_name: str = ""
    session_id: str = ""
    user_id: str = ""
    start_ns: int = 0
    end_ns: int = 0
    has_error: bool = False
    error_count: int = 0
    usage: Usage = NO_USAGE
    cost: Cost = NO_COST
    models: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    llm_calls: tuple[LLMCall, ...] = ()
    messages: tuple[Message, ...] = ()
    documents: tuple[Document, ...] = ()
    spans: tuple[Span, ...] = ()
    dialects: tuple[str, ...] = ()
    diagnostics: tuple[str, ...] = ()

    @property
    def latency_ms(self) -> float:
        """Wall time from the first start to the last end, milliseconds, never negative."""
        return max(0, self.end_ns - self.start_ns) / 1e6
