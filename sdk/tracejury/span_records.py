"""Spans as OpenTelemetry holds them, in process or as OTLP JSON, made into records.

Nothing of OpenTelemetry is imported: a span of its SDK is known by the attributes it has.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tracejury.trace import Span, SpanEvent, SpanRecord, StatusCode

MAX_DEPTH: Final = 32
_STATUS: Final[Mapping[Any, StatusCode]] = {
    0: "unset",
    1: "ok",
    2: "error",
    "STATUS_CODE_UNSET": "unset",
    "STATUS_CODE_OK": "ok",
    "STATUS_CODE_ERROR": "error",
}
_KINDS: Final = ("unspecified", "internal", "server", "client", "producer", "consumer")
_WANTED: Final = (
    "give spans of opentelemetry.sdk, SpanRecords, or OTLP JSON (an object with resourceSpans)"
)


def span_records(spans: object) -> list[SpanRecord]:
    """The records of spans: those of OpenTelemetry's SDK, our own, or OTLP JSON as data.

    Spans without an id of their own are told apart by their place in the list.
    Raises: TypeError for what is no span.
    """
    if isinstance(spans, Mapping):
        return list(otlp_json_records(spans))
    if isinstance(spans, (str, bytes)) or not isinstance(spans, Iterable):
        raise TypeError(f"{type(spans).__name__} holds no spans; {_WANTED}")
    return [_record(span, place) for place, span in enumerate(spans)]


def otlp_json_records(document: Mapping[str, Any]) -> Iterator[SpanRecord]:
    """Yield the spans of one OTLP JSON export.

    Raises: ValueError where the document is no export; TypeError, AttributeError or KeyError
    where its parts are not of the kind they should be.
    """
    if not document.keys() & {"resourceSpans", "resourceLogs"}:
        raise ValueError("it has no resourceSpans")
    for group in document.get("resourceSpans", ()):
        resource = otlp_json_attributes(group.get("resource", {}))
        for scoped in group.get("scopeSpans", ()):
            scope = scoped.get("scope", {})
            for span in scoped.get("spans", ()):
                yield _from_json(span, resource, scope)


def otlp_json_attributes(holder: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a span, event or resource of OTLP JSON as plain values."""
    given = holder.get("attributes", ())
    if isinstance(given, Mapping):
        return {str(key): plain(value) for key, value in given.items()}
    return {str(pair["key"]): plain_value(pair.get("value")) for pair in given}


def plain(value: Any, depth: int = 0) -> Any:
    """An attribute's value with lists for tuples and base64 text for bytes, as the service keeps
    them; None below `MAX_DEPTH` levels."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value


def _record(span: object, place: int) -> SpanRecord:
    if isinstance(span, SpanRecord):
        return span
    if isinstance(span, Span):
        return _from_span(span)
    if isinstance(span, Mapping):
        return _from_json(span, {}, {}, place)
    if hasattr(span, "attributes") and hasattr(span, "name"):
        return _from_sdk(span, place)
    raise TypeError(f"{type(span).__name__} is no span; {_WANTED}")


def _from_span(span: Span) -> SpanRecord:
    return SpanRecord(
        trace_id="",
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        name=span.name,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        status=span.status,
        status_message=span.error.message if span.error else "",
        attributes=span.attributes,
        events=span.events,
        scope_name=span.scope_name,
    )


def _from_sdk(span: Any, place: int) -> SpanRecord:
    context = getattr(span, "context", None)
    status = getattr(span, "status", None)
    scope = getattr(span, "instrumentation_scope", None)
    resource = getattr(span, "resource", None)
    return SpanRecord(
        trace_id=_hex(getattr(context, "trace_id", None), 32),
        span_id=_hex(getattr(context, "span_id", None), 16) or _made_up_id(place),
        parent_span_id=_hex(getattr(getattr(span, "parent", None), "span_id", None), 16),
        name=str(span.name or ""),
        otel_kind=_lower_name(getattr(span, "kind", None), "unspecified"),
        start_ns=_ns(getattr(span, "start_time", None)),
        end_ns=_ns(getattr(span, "end_time", None)),
        status=_STATUS.get(_value(getattr(status, "status_code", None)), "unset"),
        status_message=str(getattr(status, "description", None) or ""),
        attributes=plain(dict(span.attributes or {})),
        events=tuple(_sdk_event(event) for event in getattr(span, "events", None) or ()),
        resource=plain(dict(getattr(resource, "attributes", None) or {})),
        scope_name=str(getattr(scope, "name", None) or ""),
        scope_version=str(getattr(scope, "version", None) or ""),
        seq=place,
    )


def _sdk_event(event: Any) -> SpanEvent:
    return SpanEvent(
        name=str(event.name),
        time_ns=_ns(getattr(event, "timestamp", None)),
        attributes=plain(dict(event.attributes or {})),
    )


def _from_json(
    span: Mapping[str, Any],
    resource: Mapping[str, Any],
    scope: Mapping[str, Any],
    place: int | None = None,
) -> SpanRecord:
    status = span.get("status") or {}
    made_up = "" if place is None else _made_up_id(place)
    return SpanRecord(
        trace_id=_json_id(span, "traceId"),
        span_id=_json_id(span, "spanId") or made_up,
        parent_span_id=_json_id(span, "parentSpanId"),
        name=str(span.get("name", "")),
        otel_kind=_json_kind(span.get("kind", 0)),
        start_ns=_ns(span.get("startTimeUnixNano")),
        end_ns=_ns(span.get("endTimeUnixNano")),
        status=_STATUS.get(status.get("code", 0), "unset"),
        status_message=str(status.get("message", "")),
        attributes=otlp_json_attributes(span),
        events=tuple(
            SpanEvent(
                name=str(event.get("name", "")),
                time_ns=_ns(event.get("timeUnixNano")),
                attributes=otlp_json_attributes(event),
            )
            for event in span.get("events", ())
        ),
        resource=resource,
        scope_name=str(scope.get("name", "")),
        scope_version=str(scope.get("version", "")),
    )


def _json_id(span: Mapping[str, Any], name: str) -> str:
    """An id as lower-case hex; one that protobuf's own JSON mapping wrote stays base64."""
    text = str(span.get(name) or "")
    return text.lower() if len(text) in (16, 32) else text


def _json_kind(kind: object) -> str:
    if isinstance(kind, int):
        return _KINDS[kind] if 0 <= kind < len(_KINDS) else "unspecified"
    name = str(kind).removeprefix("SPAN_KIND_").lower()
    return name if name in _KINDS else "unspecified"


def plain_value(value: Any, depth: int = 0) -> Any:
    """The plain value of an OTLP AnyValue; bytes are base64 text, as the service keeps them."""
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        return None
    for name, inner in value.items():
        if name == "intValue":
            return int(inner)
        if name == "arrayValue":
            return [plain_value(item, depth + 1) for item in inner.get("values", ())]
        if name == "kvlistValue":
            pairs = inner.get("values", ())
            return {str(pair["key"]): plain_value(pair.get("value"), depth + 1) for pair in pairs}
        if name == "doubleValue":
            return float(inner)
        if name == "bytesValue":
            return base64.b64encode(base64.b64decode(inner)).decode()
        if name in ("stringValue", "boolValue"):
            return inner
    return None


def _made_up_id(place: int) -> str:
    """An id for a span without one; ids sort as the spans stand in their list."""
    return f"{place:016x}"


def _hex(number: object, digits: int) -> str:
    return f"{number:0{digits}x}" if isinstance(number, int) and number > 0 else ""


def _ns(time: object) -> int:
    """Nanoseconds since the epoch; 0 for no time."""
    if isinstance(time, str) and time.isdecimal():
        time = int(time[:20])
    return time if isinstance(time, int) and not isinstance(time, bool) and time > 0 else 0


def _value(member: object) -> object:
    """The number of an enum's member."""
    return getattr(member, "value", member)


def _lower_name(member: object, default: str) -> str:
    return str(getattr(member, "name", default)).lower()
