"""A span in its place, with what its dialects say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from tracejury.assembly.messages import parse_messages, system_message
from tracejury.assembly.spanusage import span_usage
from tracejury.assembly.spoken import has_parts, last_text
from tracejury.dialects.decode import decode, is_blank, salvage, to_name
from tracejury.dialects.resolve import Fields, Reading, is_true, read
from tracejury.trace import (
    Cost,
    Message,
    Role,
    SpanError,
    SpanEvent,
    SpanKind,
    SpanRecord,
    Usage,
)

Side = Literal["input", "output"]

NO_USAGE = Usage()
NO_COST = Cost()
# What a run that was started without any input records as such.
_NOTHING = frozenset({"null", "None", "{}"})
_NO_SERVICE = "unknown_service"
_NO_FAILURE = frozenset({"none", "null", "false", "no"})
_SUSPENDED = ("GraphInterrupt", "ParentCommand", "CallDeferred", "ApprovalRequired", "ModelRetry")


class Node:
    """A span in its place, with what its dialects say."""

    __slots__ = (
        "_input",
        "_output",
        "_question",
        "_usage",
        "agent",
        "children",
        "cut",
        "depth",
        "error",
        "events",
        "fields",
        "kind",
        "last_below",
        "order",
        "parent",
        "position",
        "reading",
        "record",
    )

    def __init__(self, record: SpanRecord, events: tuple[SpanEvent, ...]) -> None:
        self.record = record
        self.events = events
        self.reading: Reading = read(
            scope_name=record.scope_name,
            name=record.name,
            attributes=record.attributes,
            events=[(event.name, event.attributes) for event in events] if events else (),
            resource=record.resource,
        )
        self.fields: Fields = self.reading.fields()
        self.kind: SpanKind = self.reading.kind
        self.parent: Node | None = None
        # The nearest agent around the span.
        self.agent: Node | None = None
        self.children: list[Node] = []
        self.depth = 0
        self.order = 0
        # Among all spans, parents before children; and of the last span below this one.
        self.position = self.last_below = 0
        self.error: SpanError | None = _error(self)
        self.cut: set[Side] = set()
        self._input: tuple[Message, ...] | None = None
        self._output: tuple[Message, ...] | None = None
        self._question: str | None = None
        self._usage: Usage | None = None

    @property
    def span_id(self) -> str:
        """The span's id."""
        return self.record.span_id

    @property
    def is_setup(self) -> bool:
        """Whether the span only configures something: no run."""
        return self.fields.operation == "create_agent"

    def is_above(self, other: Node) -> bool:
        """Whether the other span lies inside this one."""
        return self.position < other.position <= self.last_below

    def runs_beside(self, other: Node) -> bool:
        """Whether other work was going on: in another service, or for another agent beside it.

        Only agents of one library are told apart: each library has a span of its own for one.
        """
        ours, theirs = (to_name(n.record.resource.get("service.name")) for n in (self, other))
        if ours != theirs and ours and theirs and not f"{ours} {theirs}".count(_NO_SERVICE):
            return True
        one, another = self.agent, other.agent
        return (
            one is not None
            and another is not None
            and one is not another
            and one.record.scope_name == another.record.scope_name
            and not one.is_above(another)
            and not another.is_above(one)
        )

    @property
    def latency_ms(self) -> float | None:
        """How long the span took, None while it has not ended; a person's waits do not count."""
        start, end = self.record.start_ns, self.record.end_ns
        if not end:
            return None
        waited = sum(
            max(0, child.record.end_ns - child.record.start_ns)
            for child in self.children
            if self.reading.tables.is_wait(child.record.name)
        )
        return max(0, end - start - waited) / 1e6

    @property
    def input(self) -> tuple[Message, ...]:
        """The messages that went in."""
        if self._input is None:
            self._input = self._with_system(self._messages("input"))
        return self._input

    @property
    def output(self) -> tuple[Message, ...]:
        """The messages that came out: of a model call only what it said."""
        if self._output is None:
            found = self._messages("output")
            self._output = _said(found) if self.kind == "llm" else found
        return self._output

    @property
    def usage(self) -> Usage:
        """What the span reports, with cached tokens counted as input."""
        if self._usage is None:
            self._usage = span_usage(self.fields, self.reading)
        return self._usage

    @property
    def requested_model(self) -> str:
        """The model that was asked, else the one that answered."""
        return to_name(self.reading.first("request_model")) or self.fields.model

    @property
    def question(self) -> str:
        """The text of the last user message, "" if there is none."""
        if self._question is None:
            text = last_text(self.input, "user")
            self._question = "" if text in _NOTHING else text
        return self._question

    def is_cut(self, side: Side) -> bool:
        """Whether of this side only the start was recorded."""
        _ = self.input if side == "input" else self.output
        return side in self.cut

    def _messages(self, side: Side) -> tuple[Message, ...]:
        """What stands whole goes before the start of what was cut off."""
        fallback: tuple[Message, ...] = ()
        started: tuple[Message, ...] = ()
        role: Role = "user" if side == "input" else "assistant"
        for value in self.reading.all(side):
            if is_blank(value):
                continue
            data = _one_side(value, side)
            start = salvage(data) if isinstance(data, str) else None
            if start is not None:
                started = started or self._new(parse_messages(_one_side(start, side), role))
                continue
            found = self._new(parse_messages(data, role))
            if has_parts(found):
                return found
            fallback = fallback or found
        if has_parts(started):
            self.cut.add(side)
            return started
        return fallback

    def _new(self, found: tuple[Message, ...]) -> tuple[Message, ...]:
        """Without the messages of earlier runs, where the span says how many they are."""
        offset = self.reading.first("message_offset")
        if isinstance(offset, int) and 0 < offset < len(found):
            return found[offset:]
        return found

    def _with_system(self, found: tuple[Message, ...]) -> tuple[Message, ...]:
        if found and not any(message.role == "system" for message in found):
            system = system_message(self.reading.first("system"))
            if system is not None:
                return (system, *found)
        return found


def _one_side(value: Any, side: Side) -> Any:
    """Of a list of events that holds both sides of a call, those of one side."""
    data = decode(value)
    if isinstance(data, dict) and side == "output":
        return _chosen(data)
    if not isinstance(data, list):
        return data
    if not [item for item in data if isinstance(item, dict) and "event.name" in item]:
        return data
    events = [item for item in data if isinstance(item, dict)]
    choices = [item for item in events if item.get("event.name") == "gen_ai.choice"]
    if side == "output" and choices:
        return choices
    return [item for item in events if item not in choices]


def _chosen(data: dict[str, Any]) -> dict[str, Any]:
    """Of a log that takes what was said before for output as well, what was said last."""
    messages = data.get("messages")
    if data.keys() != {"messages"} or not isinstance(messages, list):
        return data
    chosen = [
        message
        for message in messages
        if isinstance(message, dict)
        and isinstance(message.get("content"), dict)
        and "message" in message["content"]
    ]
    return {"messages": chosen} if chosen else data


def _said(found: tuple[Message, ...]) -> tuple[Message, ...]:
    """The assistant's messages at the end."""
    start = len(found)
    while start and found[start - 1].role == "assistant":
        start -= 1
    return found[start:] or tuple(m for m in found if m.role == "assistant")


def _error(node: Node) -> SpanError | None:
    record, fields = node.record, node.fields
    failed = record.status == "error" or (bool(fields.error_type) and record.status != "ok")
    if not failed and node.kind in ("tool", "mcp"):
        failed = is_true(node.reading.first("failed")) or _is_false(node.reading.first("succeeded"))
        # Some libraries end every span as ok: a tool that raised and gave nothing back failed.
        failed = failed or (bool(fields.error_type) and fields.tool_result is None)
    failure = to_name(node.reading.first("failure")) if node.kind == "tool" else ""
    failure = "" if failure.lower() in _NO_FAILURE else failure
    if not failed and not failure:
        return None
    message = record.status_message or fields.error_message or failure
    if message.startswith(_SUSPENDED) or any(name in fields.error_type for name in _SUSPENDED):
        return None
    stack = next(
        (
            to_name(event.attributes.get("exception.stacktrace"))
            for event in reversed(node.events)
            if event.name == "exception"
        ),
        "",
    )
    return SpanError(
        type=fields.error_type,
        message=fields.error_message or record.status_message or failure,
        stack=stack,
    )


def _is_false(value: Any) -> bool:
    return value is False or (isinstance(value, str) and value.lower() == "false")


def upward(node: Node | None) -> Iterable[Node]:
    """The node and all above it."""
    while node is not None:
        yield node
        node = node.parent
