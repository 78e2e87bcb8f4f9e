"""Hand-made spans of a dialect with the facts that they hold, from `tests/cases/dialects`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tracejury.assemble import assemble
from tracejury.assembly.logs import join_logs
from tracejury.dialects import active
from tracejury.dialects.decode import decode
from tracejury.dialects.resolve import Reading, read
from tracejury.dialects.rules import Rule
from tracejury.trace import LogRecord, SpanEvent, SpanRecord, Trace
from tracejury.view import trace_to_api

FOLDER = Path(__file__).parents[1] / "cases" / "dialects"
_START_NS = 1_790_000_000_000_000_007


@dataclass(frozen=True, kw_only=True)
class DialectCase:
    """One span or one trace, and what must be found in it."""

    dialect: str
    name: str
    spans: tuple[SpanRecord, ...]
    logs: tuple[LogRecord, ...] = ()
    is_trace: bool = False
    expect: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.dialect}: {self.name}"


@cache
def dialect_cases() -> tuple[DialectCase, ...]:
    """All hand-made cases of all dialects."""
    return tuple(case for path in sorted(FOLDER.glob("*.yaml")) for case in _cases(path))


def _cases(path: Path) -> Iterator[DialectCase]:
    for data in yaml.load(path.read_text(), Loader=yaml.CSafeLoader):
        unknown = data.keys() - {"case", "span", "spans", "logs", "expect"}
        assert not unknown, f"{path.name}: unknown keys {sorted(unknown)}"
        spans = data["spans"] if "spans" in data else [data["span"]]
        yield DialectCase(
            dialect=path.stem,
            name=data["case"],
            spans=tuple(_span(i, span) for i, span in enumerate(spans)),
            logs=tuple(_log(i, log) for i, log in enumerate(data.get("logs", []))),
            is_trace="spans" in data,
            expect=data["expect"],
        )


def _id(value: Any) -> str:
    return str(value).encode().hex().zfill(16)[-16:] if value not in (None, "") else ""


def _span(position: int, data: Mapping[str, Any]) -> SpanRecord:
    """`start` and `end` are milliseconds; `id` and `parent` any short text."""
    unknown = data.keys() - {
        *("id", "parent", "name", "scope", "start", "end", "status", "status_message"),
        *("attributes", "events", "resource", "otel_kind"),
    }
    assert not unknown, f"unknown keys {sorted(unknown)}"
    start = data.get("start", position)
    return SpanRecord(
        trace_id="ab" * 16,
        span_id=_id(data.get("id", position)),
        parent_span_id=_id(data.get("parent")),
        name=data.get("name", "span"),
        otel_kind=data.get("otel_kind", "internal"),
        start_ns=_START_NS + int(start * 1e6),
        end_ns=_START_NS + int(data.get("end", start + 1) * 1e6),
        status=data.get("status", "unset"),
        status_message=data.get("status_message", ""),
        attributes=data.get("attributes", {}),
        events=tuple(
            SpanEvent(
                name=event["name"],
                time_ns=_START_NS + int((start + event.get("time", 0)) * 1e6) + i,
                attributes=event.get("attributes", {}),
            )
            for i, event in enumerate(data.get("events", []))
        ),
        resource=data.get("resource", {}),
        scope_name=data.get("scope", ""),
        seq=position + 1,
    )


def _log(position: int, data: Mapping[str, Any]) -> LogRecord:
    return LogRecord(
        trace_id="ab" * 16,
        span_id=_id(data.get("span")),
        event_name=data.get("event", ""),
        time_ns=_START_NS + int(data.get("time", position) * 1e6),
        body=data.get("body"),
        attributes=data.get("attributes", {}),
        resource=data.get("resource", {}),
        scope_name=data.get("scope", ""),
        seq=position + 1,
    )


def reading_of(span: SpanRecord) -> Reading:
    """The span under the rules."""
    return read(
        scope_name=span.scope_name,
        name=span.name,
        attributes=span.attributes,
        events=[(event.name, event.attributes) for event in span.events],
        resource=span.resource,
    )


def span_facts(span: SpanRecord, names: Sequence[str]) -> dict[str, Any]:
    """What is found on the span, by field."""
    reading = reading_of(span)
    fields = reading.fields()
    return {
        name: decode(
            getattr(fields, name) if hasattr(fields, name) else reading.first(name)  # type: ignore[arg-type]
        )
        for name in names
    }


def assembled(case: DialectCase) -> Trace:
    """The case's trace."""
    return assemble(case.spans, case.logs)


def mismatches(expected: Any, found: Any, path: str = "") -> list[str]:
    """Where `found` differs; of an expected object only its own keys are compared."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping) and path.count(".") < 3:
        return [
            text
            for key, value in expected.items()
            for text in mismatches(value, found.get(key), f"{path}.{key}")
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            text
            for i, (one, other) in enumerate(zip(expected, found, strict=True))
            for text in mismatches(one, other, f"{path}[{i}]")
        ]
    same = expected == found or expected == decode(found)
    return [] if same else [f"{path.lstrip('.')}: {found!r} instead of {expected!r}"]


def trace_facts(case: DialectCase) -> dict[str, Any]:
    """The trace in the shape of the API."""
    return trace_to_api(assembled(case))


def rules_hit(case: DialectCase) -> set[Rule]:
    """The rules that find something on the case's spans."""
    found: set[Rule] = set()
    joined = join_logs(list(case.spans), case.logs)
    spans = [replace(span, events=joined.get(span.span_id, span.events)) for span in case.spans]
    for span in (*spans, *map(_log_as_span, case.logs)):
        reading = reading_of(span)
        events = [(event.name, event.attributes) for event in span.events]
        for _, _, rule, place in reading.plan.entries():
            if rule.kinds and reading.kind not in rule.kinds:
                continue
            value = (
                span.attributes[place] if isinstance(place, str) else place(span.attributes, events)
            )
            if value not in (None, "", [], {}):
                found.add(rule)
    return found


def _log_as_span(log: LogRecord) -> SpanRecord:
    body = log.body if isinstance(log.body, dict) else {}
    recorded = active().index.records.get(log.event_name)
    kind = {"tracejury.span.kind": recorded.kind} if recorded else {}
    event = SpanEvent(name=log.event_name, attributes={**log.attributes, **body})
    return SpanRecord(
        trace_id=log.trace_id,
        span_id="ff" * 8,
        name=log.event_name,
        attributes={**event.attributes, **kind} if recorded else {},
        events=() if recorded else (event,),
        scope_name=log.scope_name,
    )
