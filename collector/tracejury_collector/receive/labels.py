"""The labels that spans and log records carry, as JSON beside their rows."""

from __future__ import annotations

import orjson

from tracejury.dialects import Fields
from tracejury.labels import Label, Said, log_labels, may_carry_labels, span_labels
from tracejury_collector.receive.records import RawLog, RawSpan, Scope


def labels_of_span(scope: Scope, span: RawSpan, found: Fields) -> str | None:
    """Return the labels of a span as JSON of a list; None for the many that carry none."""
    events = [event.name for event in span.events]
    if not may_carry_labels(found.kind, span.attributes, events):
        return None
    said = Said(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        project=scope.resource.project,
        name=span.name,
        kind=found.kind,
        dialect=found.dialect,
        output=found.output,
        time_ns=span.end_ns or span.start_ns,
        attributes=span.attributes,
        events=[event[:3] for event in span.events],
        links=[(link["trace_id"], link["span_id"]) for link in span.links],
    )
    return _json(span_labels(said))


def labels_of_log(scope: Scope, log: RawLog) -> str | None:
    """Return the label in a log record of the event of labels as JSON of a list; None: none."""
    return _json(
        log_labels(
            trace_id=log.trace_id,
            span_id=log.span_id,
            project=scope.resource.project,
            time_ns=log.time_ns or log.observed_ns,
            attributes=log.attributes,
            body=log.body,
        )
    )


def _json(labels: list[Label]) -> str | None:
    return orjson.dumps(labels).decode() if labels else None
