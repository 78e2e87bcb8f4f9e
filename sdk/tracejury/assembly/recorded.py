"""Logs and span events that tell of something no span stands for, made into spans."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from tracejury.assembly.logs import as_event
from tracejury.dialects.active import active
from tracejury.dialects.decode import to_float, to_text
from tracejury.dialects.rules import Recorded
from tracejury.trace import LogRecord, SpanEvent, SpanKind, SpanRecord

# The attribute by which a span says its kind itself.
KIND_ATTRIBUTE = "tracejury.span.kind"


def recorded_spans(
    records: Sequence[SpanRecord], logs: Sequence[LogRecord], kinds: Iterable[SpanKind]
) -> list[SpanRecord]:
    """Spans for the events that stand for one, in traces without a span of their kind."""
    rules = active().index.records
    if not rules:
        return []
    known = set(kinds)
    found: dict[str, SpanRecord] = {}
    for log in logs:
        event = as_event(log)
        rule = rules.get(event.name)
        if rule is not None and rule.kind not in known:
            span = _span(rule, event, log.trace_id, log.span_id, log.scope_name)
            found[span.span_id] = span
    for record in records:
        for event in record.events:
            rule = rules.get(event.name)
            if rule is not None and rule.kind not in known:
                span = _span(rule, event, record.trace_id, record.span_id, record.scope_name)
                found[span.span_id] = span
    return [found[span_id] for span_id in sorted(found)]


def _span(
    rule: Recorded, event: SpanEvent, trace_id: str, parent_id: str, scope: str
) -> SpanRecord:
    text = to_text(dict(sorted(event.attributes.items())))
    key = f"{trace_id}\n{parent_id}\n{event.name}\n{event.time_ns}\n{text}"
    lasted_ms = to_float(event.attributes.get(rule.duration_ms)) if rule.duration_ms else None
    lasted_ns = int(max(0.0, lasted_ms or 0.0) * 1e6)
    return SpanRecord(
        trace_id=trace_id,
        span_id=hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:16],
        parent_span_id=parent_id,
        name=event.name,
        start_ns=max(0, event.time_ns - lasted_ns),
        end_ns=event.time_ns,
        attributes={**event.attributes, KIND_ATTRIBUTE: rule.kind},
        scope_name=scope,
    )
