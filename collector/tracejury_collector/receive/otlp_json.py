"""OTLP/JSON → rows, by the OTLP rules: hex ids, camelCase names, 64-bit integers as texts too.

Source: OTLP specification, "JSON Protobuf Encoding"; protobuf's ProtoJSON for the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tracejury_collector.config import Limits
from tracejury_collector.errors import MalformedRequest
from tracejury_collector.receive import json_split
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
from tracejury_collector.receive.values import (
    Plain,
    Rejected,
    decode_base64,
    json_attributes,
    json_int,
    json_list,
    json_object,
    json_text,
    json_value,
)

_UINT32 = range(1 << 32)
_UINT64 = range(1 << 64)
_INT32 = range(-(1 << 31), 1 << 31)
_HEX = re.compile(r"[0-9a-fA-F]*")

R = TypeVar("R", bound=Rows[Any])
AddRecord = Callable[[Mapping[str, Any], Scope, R, Limits], None]


def decode_spans(body: bytes, rows: SpanRows, limits: Limits) -> None:
    """Add the spans of an ExportTraceServiceRequest in JSON to `rows`.

    Raises: MalformedRequest, TooLarge
    """
    _decode(body, ("resourceSpans", "scopeSpans", "spans"), rows, limits, _add_span)


def decode_logs(body: bytes, rows: LogRows, limits: Limits) -> None:
    """Add the log records of an ExportLogsServiceRequest in JSON to `rows`.

    Raises: MalformedRequest, TooLarge
    """
    _decode(body, ("resourceLogs", "scopeLogs", "logRecords"), rows, limits, _add_log)


def _decode(
    body: bytes, path: tuple[str, str, str], rows: R, limits: Limits, add: AddRecord[R]
) -> None:
    document = json_split.load(body, path, limits)
    count = 0
    for found, items in _scopes(document.root, path, limits):
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
                add(json_object(document.item(item), "it"), scope, rows, limits)
            except Rejected as rejected:
                rows.reject(str(rejected))


def _scopes(
    request: object, path: tuple[str, str, str], limits: Limits
) -> Iterator[tuple[Scope | Rejected, Sequence[Any]]]:
    if not isinstance(request, dict):
        raise _not_a_request("the body is not a JSON object")
    for outer in _array(request, path[0]):
        resource = _resource(_envelope(outer), limits)
        for inner in _array(_envelope(outer), path[1]):
            yield _scope(resource, _envelope(inner), limits), _array(_envelope(inner), path[2])


def _envelope(value: object) -> Mapping[str, Any]:
    try:
        return json_object(value, "an envelope")
    except Rejected as rejected:
        raise _not_a_request(str(rejected)) from None


def _array(fields: Mapping[str, Any], name: str) -> list[Any]:
    try:
        return json_list(fields.get(name), name)
    except Rejected as rejected:
        raise _not_a_request(str(rejected)) from None


def _not_a_request(problem: str) -> MalformedRequest:
    return MalformedRequest(f"{problem}; send an OTLP/JSON export request")


def _attributes(fields: Mapping[str, Any], limits: Limits) -> tuple[dict[str, Plain], int]:
    attributes, cut = json_attributes(
        fields.get("attributes"), limits.nesting_depth, limits.attributes_per_span
    )
    return attributes, uint32(json_int(fields, "droppedAttributesCount", _UINT32) + cut)


def _resource(outer: Mapping[str, Any], limits: Limits) -> Resource | Rejected:
    try:
        fields = json_object(outer.get("resource"), "the resource")
        attributes, dropped = _attributes(fields, limits)
        refs = [_entity_ref(ref) for ref in json_list(fields.get("entityRefs"), "entityRefs")]
        return Resource(attributes, dropped, refs, json_text(outer, "schemaUrl"))
    except Rejected as rejected:
        return Rejected(f"its resource: {rejected}")


def _entity_ref(value: object) -> dict[str, Any]:
    fields = json_object(value, "an entity reference")
    return {
        "schema_url": json_text(fields, "schemaUrl"),
        "type": json_text(fields, "type"),
        "id_keys": _texts(fields, "idKeys"),
        "description_keys": _texts(fields, "descriptionKeys"),
    }


def _texts(fields: Mapping[str, Any], name: str) -> list[str]:
    items = json_list(fields.get(name), name)
    if not all(isinstance(item, str) for item in items):
        raise Rejected(f"{name} holds something else than texts")
    return items


def _scope(
    resource: Resource | Rejected, inner: Mapping[str, Any], limits: Limits
) -> Scope | Rejected:
    if isinstance(resource, Rejected):
        return resource
    try:
        fields = json_object(inner.get("scope"), "the scope")
        attributes, dropped = _attributes(fields, limits)
        name, version = json_text(fields, "name"), json_text(fields, "version")
        url = json_text(inner, "schemaUrl")
        return Scope(resource, name, version, attributes, dropped, url)
    except Rejected as rejected:
        return Rejected(f"its scope: {rejected}")


def _id(fields: Mapping[str, Any], name: str, size: int) -> bytes:
    """Return an id given in hex, or in the base64 that generic protobuf JSON writers send."""
    text = json_text(fields, name)
    if len(text) == 2 * size or not text:
        if _HEX.fullmatch(text):
            return bytes.fromhex(text)
    elif (raw := decode_base64(text, name)) and len(raw) == size:
        return raw
    raise Rejected(f"{name} is not {2 * size} hex digits")


def _enum(fields: Mapping[str, Any], name: str, values: Any) -> int:
    value = fields.get(name)
    if isinstance(value, str) and value in values.keys():  # noqa: SIM118
        return int(values.Value(value))
    return json_int(fields, name, _INT32)


def _add_span(span: Mapping[str, Any], scope: Scope, rows: SpanRows, limits: Limits) -> None:
    attributes, dropped_attributes = _attributes(span, limits)
    events, dropped_events = _cut(span, "events", "droppedEventsCount", limits)
    links, dropped_links = _cut(span, "links", "droppedLinksCount", limits)
    status = json_object(span.get("status"), "status")
    rows.add(
        scope,
        RawSpan(
            trace_id_text(_id(span, "traceId", 16)),
            span_id_text(_id(span, "spanId", 8)),
            parent_id_text(_id(span, "parentSpanId", 8)),
            json_text(span, "traceState"),
            json_int(span, "flags", _UINT32),
            json_text(span, "name"),
            _enum(span, "kind", Span.SpanKind),
            json_int(span, "startTimeUnixNano", _UINT64),
            json_int(span, "endTimeUnixNano", _UINT64),
            attributes,
            dropped_attributes,
            [_event(event, limits) for event in events],
            dropped_events,
            [_link(link, limits) for link in links],
            dropped_links,
            _enum(status, "code", Status.StatusCode),
            json_text(status, "message"),
        ),
    )


def _cut(span: Mapping[str, Any], name: str, counter: str, limits: Limits) -> tuple[list[Any], int]:
    items = json_list(span.get(name), name)
    excess = max(0, len(items) - limits.events_per_span)
    return items[: limits.events_per_span], uint32(json_int(span, counter, _UINT32) + excess)


def _event(value: object, limits: Limits) -> Event:
    fields = json_object(value, "an event")
    attributes, dropped = _attributes(fields, limits)
    time_unix_nano = json_int(fields, "timeUnixNano", _UINT64)
    return Event(json_text(fields, "name"), time_unix_nano, attributes, dropped)


def _link(value: object, limits: Limits) -> dict[str, Any]:
    fields = json_object(value, "a link")
    attributes, dropped = _attributes(fields, limits)
    return link_json(
        _id(fields, "traceId", 16).hex(),
        _id(fields, "spanId", 8).hex(),
        json_text(fields, "traceState"),
        attributes,
        dropped,
        json_int(fields, "flags", _UINT32),
    )


def _add_log(log: Mapping[str, Any], scope: Scope, rows: LogRows, limits: Limits) -> None:
    attributes, dropped = _attributes(log, limits)
    body = log.get("body")
    rows.add(
        scope,
        RawLog(
            trace_id_text(_id(log, "traceId", 16)),
            parent_id_text(_id(log, "spanId", 8)),
            json_text(log, "eventName"),
            json_int(log, "timeUnixNano", _UINT64),
            json_int(log, "observedTimeUnixNano", _UINT64),
            _enum(log, "severityNumber", SeverityNumber),
            json_text(log, "severityText"),
            None if body is None else json_value(body, limits.nesting_depth),
            attributes,
            dropped,
            json_int(log, "flags", _UINT32),
        ),
    )
