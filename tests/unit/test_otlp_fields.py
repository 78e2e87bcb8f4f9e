"""Everything on the wire has a place in the row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.helpers.otlp import decoded_rows, logs_request_of, make_log, make_span, request_of
from tracejury_collector.receive.otlp import Encoding

Request = ExportTraceServiceRequest | ExportLogsServiceRequest

ONLY_IN_PROFILES = {
    "opentelemetry.proto.common.v1.AnyValue.string_value_strindex",
    "opentelemetry.proto.common.v1.KeyValue.key_strindex",
}
"""References into a table of strings that only profiles carry."""


def _trace() -> ExportTraceServiceRequest:
    span = make_span(kind=3)
    span.attributes.add(key="k").value.array_value.values.add().kvlist_value.values.add(
        key="inner"
    ).value.string_value = "v"
    span.events.add(name="e").attributes.add(key="k").value.int_value = 1
    span.links.add(trace_id=b"t" * 16, span_id=b"s" * 8)
    request = request_of(span)
    request.resource_spans[0].resource.entity_refs.add(type="service")
    request.resource_spans[0].scope_spans[0].scope.name = "scope"
    return request


def _logs() -> ExportLogsServiceRequest:
    log = make_log()
    log.body.string_value = "text"
    request = logs_request_of(log)
    request.resource_logs[0].scope_logs[0].scope.name = "scope"
    return request


def _span(request: Any) -> Any:
    return request.resource_spans[0].scope_spans[0].spans[0]


def _log(request: Any) -> Any:
    return request.resource_logs[0].scope_logs[0].log_records[0]


Part = tuple[str, Callable[[], Request], Callable[[Any], Message]]
PARTS: list[Part] = [
    ("ResourceSpans", _trace, lambda r: r.resource_spans[0]),
    ("Resource", _trace, lambda r: r.resource_spans[0].resource),
    ("EntityRef", _trace, lambda r: r.resource_spans[0].resource.entity_refs[0]),
    ("ScopeSpans", _trace, lambda r: r.resource_spans[0].scope_spans[0]),
    ("InstrumentationScope", _trace, lambda r: r.resource_spans[0].scope_spans[0].scope),
    ("Span", _trace, _span),
    ("Event", _trace, lambda r: _span(r).events[0]),
    ("Link", _trace, lambda r: _span(r).links[0]),
    ("Status", _trace, lambda r: _span(r).status),
    ("KeyValue", _trace, lambda r: _span(r).attributes[0]),
    ("AnyValue", _trace, lambda r: _span(r).attributes[0].value),
    ("ResourceLogs", _logs, lambda r: r.resource_logs[0]),
    ("Resource of logs", _logs, lambda r: r.resource_logs[0].resource),
    ("ScopeLogs", _logs, lambda r: r.resource_logs[0].scope_logs[0]),
    ("Scope of logs", _logs, lambda r: r.resource_logs[0].scope_logs[0].scope),
    ("LogRecord", _logs, _log),
    ("AnyValue of a body", _logs, lambda r: _log(r).body),
]


def _fields() -> list[Any]:
    return [
        pytest.param(build, part, field.name, id=f"{name}.{field.name}")
        for name, build, part in PARTS
        for field in part(build()).DESCRIPTOR.fields
        if field.full_name not in ONLY_IN_PROFILES
    ]


def _change(message: Any, name: str) -> None:
    """Give the field another value than it has."""
    field: FieldDescriptor = message.DESCRIPTOR.fields_by_name[name]
    if field.is_repeated:
        _add_another(getattr(message, name), field)
    elif field.message_type:
        _change_inside(getattr(message, name), field)
    elif field.enum_type:
        setattr(message, name, next(v.number for v in field.enum_type.values if v.number > 0))
    elif field.type == FieldDescriptor.TYPE_BYTES:
        setattr(message, name, b"\x07" * (len(getattr(message, name)) or 8))
    elif field.type == FieldDescriptor.TYPE_BOOL:
        setattr(message, name, not getattr(message, name))
    else:
        kind = type(getattr(message, name))
        setattr(message, name, kind(77))


def _add_another(items: Any, field: FieldDescriptor) -> None:
    if field.message_type is None:
        items.append("another")
        return
    other = items.add()
    if items and len(items) > 1:
        other.CopyFrom(items[0])
    for inner in ("span_id", "name", "key"):
        if inner in field.message_type.fields_by_name:
            _change(other, inner)


def _change_inside(message: Any, field: FieldDescriptor) -> None:
    names = field.message_type.fields_by_name
    inner = next(n for n in ("dropped_attributes_count", "code", "name", "values", "bool_value",
                             "attributes") if n in names)  # fmt: skip
    _change(message, inner)


def _content(request: Request, encoding: Encoding) -> list[dict[str, Any]]:
    rows, found = decoded_rows(request, encoding)
    assert not found.rejected, found.message
    return [{k: v for k, v in row.items() if not k.startswith("content_hash")} for row in rows]


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
@pytest.mark.parametrize(("build", "part", "name"), _fields())
def test_a_row_tells_of_every_field_on_the_wire(
    build: Callable[[], Request], part: Callable[[Any], Message], name: str, encoding: Encoding
) -> None:
    request = build()
    before, hashes = _content(request, encoding), _hashes(request)
    _change(part(request), name)
    assert _content(request, encoding) != before
    assert _hashes(request) != hashes


def _hashes(request: Request) -> list[tuple[int, int]]:
    rows, _ = decoded_rows(request)
    return [(row["content_hash_high"], row["content_hash_low"]) for row in rows]


def test_the_fields_left_out_are_still_the_only_ones() -> None:
    names = {f.full_name for _, build, part in PARTS for f in part(build()).DESCRIPTOR.fields}
    assert names >= ONLY_IN_PROFILES
