"""Logs that belong to spans, read like the events of the spans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tracejury.dialects.decode import decode, to_name, to_text
from tracejury.dialects.resolve import read
from tracejury.trace import LogRecord, SpanEvent, SpanRecord

_INFERENCE = frozenset({"llm", "embedding", "reranker"})


def join_logs(
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
    for key in sorted(keyed, key=lambda k: (k[0], keyed[k][0], k)):
        yield keyed[key][1], keyed[key][2]


def as_event(log: LogRecord) -> SpanEvent:
    """The log as an event: its attributes, and its body's members or the body itself."""
    body = decode(log.body)
    data = dict(body) if isinstance(body, dict) else {} if body is None else {"body": body}
    name = log.event_name or to_name(log.attributes.get("event.name") or data.get("event.name"))
    return SpanEvent(name=name, time_ns=log.time_ns, attributes={**log.attributes, **data})
