"""OTLP protobuf → rows: split on the wire, then parsed span by span.

Source: opentelemetry-proto, trace/v1 and logs/v1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tracejury_collector.config import Limits
from tracejury_collector.errors import MalformedRequest, TooLarge
from tracejury_collector.receive import wire
from tracejury_collector.receive.columns import LogRows, Rows, SpanRows, check_count
from tracejury_collector.receive.records import (
    Event,
    RawLog,
    RawSpan,
    Resource,
    Scope,
    link_json,
    parent_id_text,
    span_id_text,
    trace_id_text,
    uint32,
)
from tracejury_collector.receive.values import Plain, Rejected, proto_attributes, proto_value

_LARGE_BYTES = 64 << 10
_MAX_FIELDS = 2_000_000  # in one large message, looked at
_MAX_VALUES = 500_000  # in one large message, held as objects
_UNDECODABLE = "cannot be decoded (invalid UTF-8, cut short, or nested too deep)"

_LIMITED = {
    "span": {9: "attributes_per_span", 11: "events_per_span", 13: "events_per_span"},
    "log": {6: "attributes_per_span"},
    "resource": {1: "attributes_per_span"},
    "scope": {3: "attributes_per_span"},
}

R = TypeVar("R", bound=Rows[Any])
M = TypeVar("M", bound=Message)


def decode_spans(body: bytes, rows: SpanRows, limits: Limits) -> None:
    """Add the spans of an ExportTraceServiceRequest to `rows`.

    Raises: MalformedRequest, TooLarge
    """
    _decode(body, rows, limits, _add_span)


def decode_logs(body: bytes, rows: LogRows, limits: Limits) -> None:
    """Add the log records of an ExportLogsServiceRequest to `rows`.

    Raises: MalformedRequest, TooLarge
    """
    _decode(body, rows, limits, _add_log)


def _decode(
    body: bytes, rows: R, limits: Limits, add: Callable[[bytes, Scope, R, Limits], None]
) -> None:
    count = 0
    for found, items in _scopes(body, limits):
        count += len(items)
        check_count(count, limits)
        try:
            if isinstance(found, Rejected):
                raise found
            scope = rows.scope(found)
        except Rejected as rejected:
            rows.reject(str(rejected), len(items))
            continue
        for item in items:
            try:
                add(body[item.start : item.end], scope, rows, limits)
            except Rejected as rejected:
                rows.reject(str(rejected))


def _scopes(body: bytes, limits: Limits) -> Iterator[tuple[Scope | Rejected, list[wire.Field]]]:
    budget = wire.Budget(8 * limits.spans_per_request + 1000)
    for field in wire.fields(body, 0, len(body), budget):
        if field.number != 1:
            continue
        outer = wire.group(body, field, budget)
        resource = _resource(outer, limits) if outer.items else Rejected()
        for scope_field in outer.items:
            inner = wire.group(body, scope_field, budget)
            if inner.items:
                yield _scope(resource, inner, limits), inner.items


def _parse(
    message_type: type[M], data: bytes, kind: str, limits: Limits
) -> tuple[M, dict[int, int]]:
    """Return the parsed message, and how many of its fields were cut by number.

    Raises: Rejected
    """
    cuts: dict[int, int] = {}
    try:
        if len(data) > _LARGE_BYTES:
            keep = {number: getattr(limits, name) for number, name in _LIMITED[kind].items()}
            data, cuts = wire.trim(data, keep, wire.Budget(_MAX_FIELDS))
            wire.check_values(data, kind, wire.Budget(_MAX_VALUES))
        return message_type.FromString(data), cuts
    except TooLarge:
        raise Rejected(f"holds more than {_MAX_VALUES} values") from None
    except (MalformedRequest, DecodeError):
        raise Rejected(_UNDECODABLE) from None


def _attributes(pairs: Any, limits: Limits) -> tuple[dict[str, Plain], int]:
    return proto_attributes(pairs, limits.nesting_depth, limits.attributes_per_span)


def _cut(items: Any, limit: int) -> tuple[Any, int]:
    excess = len(items) - limit
    return (items[:limit], excess) if excess > 0 else (items, 0)


def _resource(group: wire.Group, limits: Limits) -> Resource | Rejected:
    try:
        message, cuts = _parse(resource_pb2.Resource, group.head, "resource", limits)
        attributes, excess = _attributes(message.attributes, limits)
    except Rejected as rejected:
        return Rejected(f"its resource {rejected}")
    entity_refs = [
        {
            "schema_url": ref.schema_url,
            "type": ref.type,
            "id_keys": list(ref.id_keys),
            "description_keys": list(ref.description_keys),
        }
        for ref in message.entity_refs
    ]
    dropped = uint32(message.dropped_attributes_count + excess + cuts.get(1, 0))
    return Resource(attributes, dropped, entity_refs, group.schema_url)


def _scope(resource: Resource | Rejected, group: wire.Group, limits: Limits) -> Scope | Rejected:
    if isinstance(resource, Rejected):
        return resource
    try:
        message, cuts = _parse(InstrumentationScope, group.head, "scope", limits)
        attributes, excess = _attributes(message.attributes, limits)
    except Rejected as rejected:
        return Rejected(f"its scope {rejected}")
    dropped = uint32(message.dropped_attributes_count + excess + cuts.get(3, 0))
    return Scope(resource, message.name, message.version, attributes, dropped, group.schema_url)


def _add_span(data: bytes, scope: Scope, rows: SpanRows, limits: Limits) -> None:
    span, cuts = _parse(Span, data, "span", limits)
    attributes, dropped_attributes = _attributes(span.attributes, limits)
    events, dropped_events = _cut(span.events, limits.events_per_span)
    links, dropped_links = _cut(span.links, limits.events_per_span)
    status = span.status
    rows.add(
        scope,
        RawSpan(
            trace_id_text(span.trace_id),
            span_id_text(span.span_id),
            parent_id_text(span.parent_span_id),
            span.trace_state,
            span.flags,
            span.name,
            span.kind,
            span.start_time_unix_nano,
            span.end_time_unix_nano,
            attributes,
            uint32(span.dropped_attributes_count + dropped_attributes + cuts.get(9, 0)),
            [_event(event, limits) for event in events],
            uint32(span.dropped_events_count + dropped_events + cuts.get(11, 0)),
            [_link(link, limits) for link in links],
            uint32(span.dropped_links_count + dropped_links + cuts.get(13, 0)),
            status.code,
            status.message,
        ),
    )


def _event(event: Span.Event, limits: Limits) -> Event:
    attributes, dropped = _attributes(event.attributes, limits)
    dropped = uint32(event.dropped_attributes_count + dropped)
    return Event(event.name, event.time_unix_nano, attributes, dropped)


def _link(link: Span.Link, limits: Limits) -> dict[str, Any]:
    attributes, dropped = _attributes(link.attributes, limits)
    return link_json(
        link.trace_id.hex(),
        link.span_id.hex(),
        link.trace_state,
        attributes,
        uint32(link.dropped_attributes_count + dropped),
        link.flags,
    )


def _add_log(data: bytes, scope: Scope, rows: LogRows, limits: Limits) -> None:
    log, cuts = _parse(LogRecord, data, "log", limits)
    attributes, dropped = _attributes(log.attributes, limits)
    rows.add(
        scope,
        RawLog(
            trace_id_text(log.trace_id),
            parent_id_text(log.span_id),
            log.event_name,
            log.time_unix_nano,
            log.observed_time_unix_nano,
            log.severity_number,
            log.severity_text,
            proto_value(log.body, limits.nesting_depth),
            attributes,
            uint32(log.dropped_attributes_count + dropped + cuts.get(6, 0)),
            log.flags,
        ),
    )
