"""Logs that belong to spans, read like the events of the spans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tracejury.dialects.active import active
from tracejury.dialects.decode import decode, to_int, to_name, to_text
from tracejury.dialects.resolve import read
from tracejury.trace import LogRecord, SpanEvent, SpanRecord

_INFERENCE = frozenset({"llm", "embedding", "reranker"})
_SOURCE_PLACE: Final = re.compile(r"event \S+:\d+")


def join_logs(
    records: list[SpanRecord], logs: Sequence[LogRecord]
) -> dict[str, tuple[SpanEvent, ...]]:
    """The events of spans that have logs, both in order of time."""
    by_id = {record.span_id: record for record in records}
    sole = ""
    if any(log.span_id not in by_id for log in logs):
        sole = _sole_inference(records)
    told_of = _Told(records)
    found: dict[str, list[SpanEvent]] = {}
    for event_span, event in _log_events(logs):
        span_id = told_of.span_id(event) or (event_span if event_span in by_id else sole)
        if span_id:
            found.setdefault(span_id, []).append(event)
    return {
        span_id: tuple(sorted((*by_id[span_id].events, *events), key=lambda event: event.time_ns))
        for span_id, events in found.items()
    }


class _Told:
    """Which span an event tells of, where both share an attribute: a call's id, for example."""

    def __init__(self, records: list[SpanRecord]) -> None:
        self._rules = {n: r for n, r in active().index.records.items() if r.joins}
        self._records = sorted(records, key=lambda r: (r.start_ns, -r.end_ns, r.span_id))
        self._spans: dict[str, dict[str, str]] = {}

    def span_id(self, event: SpanEvent) -> str:
        """The id of the first span that shares the attribute, "" if there is none."""
        rule = self._rules.get(event.name)
        value = to_name(event.attributes.get(rule.joins)) if rule is not None else ""
        return self._by(rule.joins).get(value, "") if rule is not None and value else ""

    def _by(self, key: str) -> dict[str, str]:
        if key not in self._spans:
            found = self._spans[key] = {}
            for record in self._records:
                if value := to_name(record.attributes.get(key)):
                    found.setdefault(value, record.span_id)
        return self._spans[key]


def _sole_inference(records: list[SpanRecord]) -> str:
    """The id of the trace's one inference span, "" if there is none or more."""
    kinds = [
        record.span_id
        for record in records
        if read(
            scope_name=record.scope_name,
            name=record.name,
            attributes=record.attributes,
            resource=record.resource,
        ).kind
        in _INFERENCE
    ]
    return kinds[0] if len(kinds) == 1 else ""


def _log_events(logs: Sequence[LogRecord]) -> Iterable[tuple[str, SpanEvent]]:
    """The logs as events with the ids of their spans, repeated ones once, in order."""
    keyed: dict[tuple[int, str, str, str], tuple[int, str, SpanEvent]] = {}
    for log in logs:
        event = as_event(log)
        text = to_text(dict(sorted(event.attributes.items())))
        key = (log.time_ns, log.span_id, event.name, text)
        known = keyed.get(key)
        if known is None or log.seq < known[0]:
            keyed[key] = (log.seq, log.span_id, event)
    for key in sorted(keyed, key=lambda k: (k[0], _sequence(keyed[k][2]), keyed[k][0], k)):
        yield keyed[key][1], keyed[key][2]


def _sequence(event: SpanEvent) -> int:
    """The place that the sender gives to events of one time, 0 where it gives none."""
    return to_int(event.attributes.get("event.sequence")) or 0


def as_event(log: LogRecord) -> SpanEvent:
    """The log as an event: its attributes, and its body's members or the body itself."""
    body = decode(log.body)
    if isinstance(body, dict):
        data = {str(key): value for key, value in body.items()}
    else:
        data = {} if body is None else {"body": body}
    name = event_name(log.event_name, {**data, **log.attributes})
    return SpanEvent(name=name, time_ns=log.time_ns, attributes={**log.attributes, **data})


def event_name(name: str, attributes: Mapping[str, Any]) -> str:
    """The event's name: its own, unless that is only its place in source code (Rust's tracing)."""
    if name and not _SOURCE_PLACE.fullmatch(name):
        return name
    return to_name(attributes.get("event.name")) or to_name(attributes.get("event_name")) or name
