"""The spans of a trace as a forest: duplicates dropped, logs joined, cycles cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tracejury.assembly.messages import last_text, parse_messages, system_message
from tracejury.dialects.decode import decode, to_content, to_int, to_name, to_text
from tracejury.dialects.resolve import Fields, Reading, read
from tracejury.trace import LogRecord, Message, SpanError, SpanEvent, SpanKind, SpanRecord, Usage

NO_USAGE = Usage()
_INFERENCE = frozenset({"llm", "embedding", "reranker"})
_SUSPENDED = ("GraphInterrupt", "ParentCommand", "CallDeferred", "ApprovalRequired", "ModelRetry")


class Node:
    """A span in its place, with what its dialects say."""

    __slots__ = (
        "_input",
        "_output",
        "_usage",
        "children",
        "depth",
        "error",
        "events",
        "fields",
        "kind",
        "order",
        "parent",
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
            events=[(event.name, event.attributes) for event in events],
        )
        self.fields: Fields = self.reading.fields()
        self.kind: SpanKind = self.reading.kind
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.depth = 0
        self.order = 0
        self.error: SpanError | None = _error(self)
        self._input: tuple[Message, ...] | None = None
        self._output: tuple[Message, ...] | None = None
        self._usage: Usage | None = None

    @property
    def span_id(self) -> str:
        """The span's id."""
        return self.record.span_id

    @property
    def is_setup(self) -> bool:
        """Whether the span only configures something: no run."""
        return self.fields.operation == "create_agent"

    @property
    def latency_ms(self) -> float | None:
        """How long the span took, None while it has not ended."""
        start, end = self.record.start_ns, self.record.end_ns
        return max(0, end - start) / 1e6 if end else None

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
    def question(self) -> str:
        """The text of the last user message, "" if there is none."""
        return last_text(self.input, "user")

    def _messages(self, side: str) -> tuple[Message, ...]:
        fallback: tuple[Message, ...] = ()
        role = "user" if side == "input" else "assistant"
        for value in self.reading.all("input" if side == "input" else "output"):
            if to_content(value) is None:
                continue
            found = self._new(parse_messages(_one_side(value, side), role))  # type: ignore[arg-type]
            if any(message.parts for message in found):
                return found
            fallback = fallback or found
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


def _one_side(value: Any, side: str) -> Any:
    """Of a list of events that holds both sides of a call, those of one side."""
    data = decode(value)
    if not isinstance(data, list) or not any(
        isinstance(item, dict) and "event.name" in item for item in data
    ):
        return data
    events = [item for item in data if isinstance(item, dict)]
    choices = [item for item in events if item.get("event.name") == "gen_ai.choice"]
    if side == "output" and choices:
        return choices
    return [item for item in events if item not in choices]


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
        failed = _is_true(node.reading.first("failed")) or _is_false(
            node.reading.first("succeeded")
        )
    if not failed:
        return None
    message = record.status_message or fields.error_message
    if any(name in fields.error_type or message.startswith(name) for name in _SUSPENDED):
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
        type=fields.error_type, message=fields.error_message or record.status_message, stack=stack
    )


def _is_true(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.lower() in ("true", "error"))


def _is_false(value: Any) -> bool:
    return value is False or (isinstance(value, str) and value.lower() == "false")


def span_usage(fields: Fields, reading: Reading) -> Usage:
    """The tokens that a span reports, with cached tokens counted as input."""
    read_, written = fields.cache_read_tokens, fields.cache_write_tokens
    input_, output = fields.input_tokens, fields.output_tokens
    total = to_int(reading.first("total_tokens"))
    if input_ is None and output is None and total is None and read_ is None:
        return NO_USAGE
    cached = (read_ or 0) + (written or 0)
    if input_ is not None and cached and _excludes_cache(input_, output, cached, total):
        input_ += cached
    if input_ is not None or output is not None:
        total = (input_ or 0) + (output or 0)
    return Usage(
        input_tokens=input_,
        output_tokens=output,
        cache_read_tokens=read_,
        cache_write_tokens=written,
        reasoning_tokens=fields.reasoning_tokens,
        total_tokens=total,
    )


def _excludes_cache(input_: int, output: int | None, cached: int, total: int | None) -> bool:
    """Whether the input does not contain the cached tokens: Anthropic and Bedrock count so."""
    if cached > input_:
        return True
    return total is not None and output is not None and total == input_ + output + cached


class Forest:
    """The nodes of a trace in order of start, and the roots among them."""

    __slots__ = ("nodes", "roots")

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.roots = [node for node in nodes if node.parent is None]


def build_forest(spans: Iterable[SpanRecord], logs: Sequence[LogRecord] = ()) -> Forest:
    """The trace's spans in their places; the same for any order of arrival."""
    records = distinct(spans)
    joined = _join_logs(records, logs) if logs else {}
    nodes = {
        record.span_id: Node(record, joined.get(record.span_id, record.events))
        for record in records
    }
    for node in nodes.values():
        parent = nodes.get(node.record.parent_span_id) if node.record.parent_span_id else None
        node.parent = parent if parent is not node else None
    _cut_cycles(nodes.values())
    for node in nodes.values():
        if node.parent is not None:
            node.parent.children.append(node)
    _set_depths(nodes.values())
    ordered = sorted(nodes.values(), key=_place)
    for position, node in enumerate(ordered):
        node.order = position
        node.children.sort(key=_place)
    return Forest(ordered)


def _place(node: Node) -> tuple[int, int, int, str]:
    record = node.record
    return (record.start_ns, node.depth, record.end_ns, record.span_id)


def distinct(spans: Iterable[SpanRecord]) -> list[SpanRecord]:
    """One record per span id, in order of id: the ended version wins, then the fuller one."""
    best: dict[str, SpanRecord] = {}
    for span in spans:
        if span.attributes.get("logfire.span_type") == "pending_span":
            continue
        known = best.get(span.span_id)
        if known is None or (known is not span and _is_better(span, known)):
            best[span.span_id] = span
    return [best[span_id] for span_id in sorted(best)]


def _is_better(span: SpanRecord, known: SpanRecord) -> bool:
    ours, theirs = _fullness(span), _fullness(known)
    return ours > theirs or (ours == theirs and _canonical(span) > _canonical(known))


def _fullness(span: SpanRecord) -> tuple[bool, int, int, int, int]:
    return (bool(span.end_ns), span.end_ns, len(span.attributes), len(span.events), span.seq)


def _canonical(span: SpanRecord) -> str:
    return repr((span.name, span.parent_span_id, span.start_ns, span.status, span)) + to_text(
        dict(sorted(span.attributes.items()))
    )


def _cut_cycles(nodes: Iterable[Node]) -> None:
    """Cut each cycle of parents at its earliest span."""
    done: set[str] = set()
    for node in nodes:
        path: dict[str, Node] = {}
        current: Node | None = node
        while current is not None and current.span_id not in done:
            if current.span_id in path:
                members = list(path.values())
                cycle = members[members.index(current) :]
                min(cycle, key=lambda n: (n.record.start_ns, n.span_id)).parent = None
                break
            path[current.span_id] = current
            current = current.parent
        done.update(path)


def _set_depths(nodes: Iterable[Node]) -> None:
    waiting = [node for node in nodes if node.parent is None]
    while waiting:
        node = waiting.pop()
        for child in node.children:
            child.depth = node.depth + 1
            waiting.append(child)


def _join_logs(
    records: list[SpanRecord], logs: Sequence[LogRecord]
) -> dict[str, tuple[SpanEvent, ...]]:
    """The events of spans that have logs, both in order of time."""
    by_id = {record.span_id: record for record in records}
    sole = ""
    if any(log.span_id not in by_id for log in logs):
        sole = _sole_inference(records)
    found: dict[str, list[SpanEvent]] = {}
    for event_span, event in _log_events(logs):
        span_id = event_span if event_span in by_id else sole
        if span_id:
            found.setdefault(span_id, []).append(event)
    return {
        span_id: tuple(sorted((*by_id[span_id].events, *events), key=lambda event: event.time_ns))
        for span_id, events in found.items()
    }


def _sole_inference(records: list[SpanRecord]) -> str:
    """The id of the trace's one inference span, "" if there is none or more."""
    kinds = [
        record.span_id
        for record in records
        if read(scope_name=record.scope_name, name=record.name, attributes=record.attributes).kind
        in _INFERENCE
    ]
    return kinds[0] if len(kinds) == 1 else ""


def _log_events(logs: Sequence[LogRecord]) -> Iterable[tuple[str, SpanEvent]]:
    """The logs as events with the ids of their spans, repeated ones once, in order."""
    keyed: dict[tuple[int, str, str, str], tuple[int, str, SpanEvent]] = {}
    for log in logs:
        event = _as_event(log)
        text = to_text(dict(sorted(event.attributes.items())))
        key = (log.time_ns, log.span_id, event.name, text)
        known = keyed.get(key)
        if known is None or log.seq < known[0]:
            keyed[key] = (log.seq, log.span_id, event)
    for key in sorted(keyed, key=lambda k: (k[0], keyed[k][0], k)):
        yield keyed[key][1], keyed[key][2]


def _as_event(log: LogRecord) -> SpanEvent:
    body = decode(log.body)
    data = dict(body) if isinstance(body, dict) else {} if body is None else {"body": body}
    name = log.event_name or to_name(log.attributes.get("event.name") or data.get("event.name"))
    return SpanEvent(name=name, time_ns=log.time_ns, attributes={**log.attributes, **data})
