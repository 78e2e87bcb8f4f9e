"""Traces that hold every pair of choices once, and what must come back of each span."""

from __future__ import annotations

import base64
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

Row = dict[str, Any]

_KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
_STATUSES = ("unset", "ok", "error")
_NOW_NS = 1_790_000_000_123_456_789


def _pairs(**values: AnyValue) -> list[KeyValue]:
    return [KeyValue(key=key, value=value) for key, value in values.items()]


def _list(*values: AnyValue) -> AnyValue:
    found = AnyValue()
    found.array_value.values.extend(values)
    return found


def _map(**values: AnyValue) -> AnyValue:
    found = AnyValue()
    found.kvlist_value.values.extend(_pairs(**values))
    return found


ATTRIBUTES: dict[str, list[KeyValue]] = {
    "none": [],
    "texts": _pairs(a=AnyValue(string_value="héllo \u202e\0"), b=AnyValue(string_value="")),
    "numbers": _pairs(
        low=AnyValue(int_value=-(2**63)),
        high=AnyValue(int_value=2**63 - 1),
        half=AnyValue(double_value=0.5),
        tiny=AnyValue(double_value=5e-324),
        nan=AnyValue(double_value=math.nan),
        infinite=AnyValue(double_value=-math.inf),
    ),
    "others": _pairs(
        yes=AnyValue(bool_value=True),
        no=AnyValue(bool_value=False),
        raw=AnyValue(bytes_value=b"\0\xff"),
        nothing=AnyValue(),
    ),
    "nested": _pairs(
        empty=_list(),
        mixed=_list(AnyValue(int_value=1), AnyValue(string_value="x"), AnyValue()),
        deep=_map(inner=_list(_map(leaf=AnyValue(bool_value=True)))),
    ),
}
_LINK = {"trace_id": b"t" * 16, "span_id": b"s" * 8}
CHOICES: Mapping[str, Sequence[Any]] = {
    "parent": [b"", b"parent_1"],
    "kind": [0, 1, 2, 3, 4, 5],
    "status": [(0, ""), (1, ""), (2, "it broke")],
    "times": [(_NOW_NS, _NOW_NS + 1), (0, 0), (1, 2**64 - 1), (_NOW_NS, _NOW_NS - 5)],
    "attributes": list(ATTRIBUTES),
    "events": ["none", "plain", "full"],
    "links": ["none", "plain", "full"],
    "resource": list(ATTRIBUTES),
    "scope": ["none", "named", "full"],
    "schema": ["", "https://example.com/1.2"],
    "state": ["", "ot=th:8,vendor=x"],
    "flags": [0, 1, 0x301],
    "dropped": [0, 2**32 - 1],
}


def pairwise(choices: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return combinations in which every two choices of two kinds meet at least once."""
    names = list(choices)
    indexes = {name: range(len(choices[name])) for name in names}
    left = {
        ((a, i), (b, j))
        for a, b in itertools.combinations(names, 2)
        for i in indexes[a]
        for j in indexes[b]
    }
    found = []
    while left:
        chosen = dict(min(left))
        for name in names:
            if name not in chosen:
                chosen[name] = max(indexes[name], key=lambda i: _met(left, names, chosen, name, i))
        left -= {((a, chosen[a]), (b, chosen[b])) for a, b in itertools.combinations(names, 2)}
        found.append({name: choices[name][i] for name, i in chosen.items()})
    return found


def _met(left: set[Any], names: list[str], chosen: dict[str, int], name: str, i: int) -> int:
    """Return how many pairs that are left would be met by this choice."""
    pairs = (sorted([(name, i), item], key=lambda p: names.index(p[0])) for item in chosen.items())
    return sum(tuple(pair) in left for pair in pairs)


def resource_spans(number: int, trace_id: bytes, choice: Mapping[str, Any]) -> ResourceSpans:
    """Return a span of these choices, its id `number`, under a resource and a scope of its own."""
    found = ResourceSpans(schema_url=choice["schema"])
    found.resource.attributes.extend(ATTRIBUTES[choice["resource"]])
    found.resource.dropped_attributes_count = choice["dropped"]
    scoped = found.scope_spans.add(schema_url=choice["schema"])
    if choice["scope"] != "none":
        scoped.scope.name, scoped.scope.version = "golden", "1.0"
    if choice["scope"] == "full":
        scoped.scope.attributes.extend(ATTRIBUTES["nested"])
        scoped.scope.dropped_attributes_count = 3
    span = scoped.spans.add(
        trace_id=trace_id,
        span_id=number.to_bytes(8, "big"),
        parent_span_id=choice["parent"],
        name=f"span {number}",
        kind=choice["kind"],
        trace_state=choice["state"],
        flags=choice["flags"],
        dropped_attributes_count=choice["dropped"],
        dropped_events_count=choice["dropped"],
        dropped_links_count=choice["dropped"],
    )
    span.start_time_unix_nano, span.end_time_unix_nano = choice["times"]
    span.status.code, span.status.message = choice["status"]
    span.attributes.extend(ATTRIBUTES[choice["attributes"]])
    _add_events(span, choice["events"])
    _add_links(span, choice["links"])
    return found


def _add_events(span: Span, how: str) -> None:
    if how != "none":
        span.events.add(name="said", time_unix_nano=_NOW_NS)
    if how == "full":
        event = span.events.add(name="", time_unix_nano=2**64 - 1, dropped_attributes_count=9)
        event.attributes.extend(ATTRIBUTES["numbers"])


def _add_links(span: Span, how: str) -> None:
    if how != "none":
        span.links.add(**_LINK)
    if how == "full":
        link = span.links.add(**_LINK, trace_state="a=b", flags=1, dropped_attributes_count=9)
        link.attributes.extend(ATTRIBUTES["others"])


def golden_request(trace_id: bytes) -> ExportTraceServiceRequest:
    """Return a request whose spans hold every pair of choices."""
    request = ExportTraceServiceRequest()
    for number, choice in enumerate(pairwise(CHOICES), start=1):
        request.resource_spans.append(resource_spans(number, trace_id, choice))
    return request


COLUMNS = (
    "span_id, parent_span_id, name, otel_kind, status, status_message, trace_state, flags, "
    "dropped_attributes_count, dropped_events_count, dropped_links_count, "
    "start_time_unix_nano, end_time_unix_nano, resource_schema_url, scope_schema_url, "
    "attributes, events, links, resource, scope"
)
"""What is stored of a span as it came."""

_DOCUMENTS = ("attributes", "events", "links", "resource", "scope")


def stored_row(values: Sequence[Any]) -> Row:
    """Return a row of `COLUMNS`, its documents read."""
    row = dict(zip(COLUMNS.split(", "), values, strict=True))
    for name in _DOCUMENTS:
        row[name] = json.loads(row[name]) if isinstance(row[name], str) else row[name]
    for name in ("start_time_unix_nano", "end_time_unix_nano"):
        row[name] = int(row[name])
    return row


def expected_rows(request: ExportTraceServiceRequest) -> list[Row]:
    """Return what must be stored of each span of the request."""
    return [
        _expected(outer, scoped, span)
        for outer in request.resource_spans
        for scoped in outer.scope_spans
        for span in scoped.spans
    ]


def _expected(outer: Any, scoped: Any, span: Span) -> Row:
    return {
        "span_id": span.span_id.hex(),
        "parent_span_id": span.parent_span_id.hex(),
        "name": span.name,
        "otel_kind": _KINDS[span.kind],
        "status": _STATUSES[span.status.code],
        "status_message": span.status.message,
        "trace_state": span.trace_state,
        "flags": span.flags,
        "dropped_attributes_count": span.dropped_attributes_count,
        "dropped_events_count": span.dropped_events_count,
        "dropped_links_count": span.dropped_links_count,
        "start_time_unix_nano": span.start_time_unix_nano,
        "end_time_unix_nano": span.end_time_unix_nano,
        "resource_schema_url": outer.schema_url,
        "scope_schema_url": scoped.schema_url,
        "attributes": plain_pairs(span.attributes),
        "events": [
            {
                "name": event.name,
                "time_unix_nano": event.time_unix_nano,
                "attributes": plain_pairs(event.attributes),
                **_counted(event),
            }
            for event in span.events
        ],
        "links": [
            {
                "trace_id": link.trace_id.hex(),
                "span_id": link.span_id.hex(),
                **_said(trace_state=link.trace_state, attributes=plain_pairs(link.attributes)),
                **_counted(link),
                **_said(flags=link.flags),
            }
            for link in span.links
        ],
        "resource": {"attributes": plain_pairs(outer.resource.attributes)}
        | _counted(outer.resource),
        "scope": {"name": scoped.scope.name, "version": scoped.scope.version}
        | _said(attributes=plain_pairs(scoped.scope.attributes))
        | _counted(scoped.scope),
    }


def _said(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _counted(message: Any) -> dict[str, Any]:
    return _said(dropped_attributes_count=message.dropped_attributes_count)


def plain_pairs(pairs: Sequence[KeyValue]) -> dict[str, Any]:
    """Return attributes as JSON can hold them."""
    return {pair.key: _plain(pair.value) for pair in pairs}


def _plain(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    content = getattr(value, kind)
    if kind == "array_value":
        return [_plain(item) for item in content.values]
    if kind == "kvlist_value":
        return plain_pairs(content.values)
    if kind == "bytes_value":
        return base64.b64encode(content).decode()
    if kind == "double_value" and not math.isfinite(content):
        return "NaN" if math.isnan(content) else "Infinity" if content > 0 else "-Infinity"
    return content
