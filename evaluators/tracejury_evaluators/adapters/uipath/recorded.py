"""Our trace as UiPath's execution of an agent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from tracejury.dialects.decode import to_text
from tracejury.trace import Span, SpanEvent, ToolCall, Trace
from tracejury_evaluators.adapters.uipath.models import AgentExecution
from tracejury_evaluators.facts import missing_output, unseen_tool_calls


class StatusCode(IntEnum):
    """A span's status, with OpenTelemetry's numbers."""

    UNSET = 0
    OK = 1
    ERROR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanStatus:
    """A span's status and what was said of it."""

    status_code: StatusCode
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanContext:
    """A span's ids as the numbers that OpenTelemetry's SDK has."""

    trace_id: int
    span_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSpan:
    """A recorded span with the attributes of a span of OpenTelemetry's SDK.

    The spans of tool calls have `tool.name`, `input.value` and `output.value` whatever framework
    wrote them. Times are nanoseconds since the epoch.
    """

    name: str
    context: SpanContext
    parent: SpanContext | None = None
    start_time: int | None = None
    end_time: int | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    status: SpanStatus

    def get_span_context(self) -> SpanContext:
        """The span's ids."""
        return self.context


class RecordedSpans(list[Any]):
    """The spans of a trace, which the helper functions know whole: `trace`."""

    def __init__(self, spans: Iterable[RecordedSpan], trace: Trace) -> None:
        super().__init__(spans)
        self.trace = trace


def recorded_execution(trace: Trace) -> AgentExecution:
    """The run as UiPath's evaluators see it; reading what was not recorded raises NotRecorded.

    Input and output are the JSON objects that they are, else `{"input": …}` and `{"output": …}`
    with the text (or the list).
    """
    return AgentExecution(
        agent_input=_data(trace.input_text, "input"),
        agent_output=_data(trace.output_text, "output"),
        agent_trace=RecordedSpans(_spans(trace), trace),
    ).lacking(dict(_lacking(trace)))


def _lacking(trace: Trace) -> Iterator[tuple[str, str]]:
    """The fields that would say something untrue, and why."""
    no_output = missing_output(trace)
    if no_output is not None:
        yield "agent_output", no_output.reason
    unseen = unseen_tool_calls(trace)
    if unseen is not None:
        yield "agent_trace", unseen.reason


def _data(text: str, name: str) -> dict[str, Any]:
    if text.lstrip()[:1] in ("{", "["):
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            return {name: text}
        return data if isinstance(data, dict) else {name: data}
    return {name: text} if text else {}


def _spans(trace: Trace) -> Iterator[RecordedSpan]:
    calls = {call.span_id: call for call in trace.tool_calls if call.source != "message"}
    for span in trace.spans:
        call = calls.get(span.span_id)
        yield RecordedSpan(
            name=span.name,
            context=_context(trace.trace_id, span.span_id),
            parent=_context(trace.trace_id, span.parent_span_id) if span.parent_span_id else None,
            start_time=span.start_ns or None,
            end_time=span.end_ns or None,
            attributes=span.attributes if call is None else {**span.attributes, **_told(call)},
            events=span.events,
            status=_status(span),
        )


def _told(call: ToolCall) -> dict[str, Any]:
    """A tool call as UiPath's own spans tell it."""
    told = {"tool.name": call.name}
    if call.arguments is not None:
        told["input.value"] = to_text(call.arguments)
    if call.output is not None:
        told["output.value"] = call.output_text
    return told


def _status(span: Span) -> SpanStatus:
    said = span.error.message or span.error.type if span.error is not None else None
    return SpanStatus(status_code=StatusCode[span.status.upper()], description=said)


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(trace_id=_number(trace_id, 16), span_id=_number(span_id, 8))


def _number(hex_id: str, size: int) -> int:
    """The id as a number; an id that is no hex is hashed to one."""
    try:
        return int(hex_id, 16)
    except ValueError:
        return int.from_bytes(hashlib.blake2b(hex_id.encode(), digest_size=size).digest(), "big")
