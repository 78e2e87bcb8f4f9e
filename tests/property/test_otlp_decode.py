"""Properties of the decoder, over arbitrary requests and arbitrary bytes."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.helpers.otlp import (
    body_rows,
    encoded,
    logs_request_of,
    make_log,
    make_span,
    raw_request,
    request_of,
    to_json,
)
from tracejury_collector.config import Limits
from tracejury_collector.errors import MalformedRequest, TooLarge
from tracejury_collector.receive.otlp import decode

TEXTS = st.text(max_size=20)
UINT32 = st.integers(0, 2**32 - 1)
UINT64 = st.integers(0, 2**64 - 1)
VALUES: st.SearchStrategy[AnyValue] = st.recursive(
    st.one_of(
        st.just(AnyValue()),
        st.builds(AnyValue, string_value=TEXTS),
        st.builds(AnyValue, bool_value=st.booleans()),
        st.builds(AnyValue, int_value=st.integers(-(2**63), 2**63 - 1)),
        st.builds(AnyValue, double_value=st.floats()),
        st.builds(AnyValue, bytes_value=st.binary(max_size=20)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda v: AnyValue(array_value=ArrayValue(values=v))),
        st.lists(st.builds(KeyValue, key=TEXTS, value=inner), max_size=3).map(
            lambda v: AnyValue(kvlist_value=KeyValueList(values=v))
        ),
    ),
    max_leaves=6,
)
KEYS = TEXTS | st.sampled_from(
    ["service.name", "tracejury.project", "tracejury.trace.complete", "gen_ai.usage.input_tokens",
     "gen_ai.operation.name", "openinference.span.kind", "input.value", "gen_ai.input.messages"]
)  # fmt: skip
ATTRIBUTES = st.lists(st.builds(KeyValue, key=KEYS, value=VALUES), max_size=4)
EVENTS = st.builds(
    Span.Event,
    name=TEXTS,
    time_unix_nano=UINT64,
    attributes=ATTRIBUTES,
    dropped_attributes_count=UINT32,
)
LINKS = st.builds(
    Span.Link,
    trace_id=st.binary(min_size=16, max_size=16),
    span_id=st.binary(min_size=8, max_size=8),
    trace_state=TEXTS,
    attributes=ATTRIBUTES,
    flags=UINT32,
)
SPANS = st.builds(
    Span,
    trace_id=st.binary(min_size=15, max_size=17),
    span_id=st.binary(min_size=8, max_size=8),
    parent_span_id=st.sampled_from([b"", bytes(8), b"parent_1"]),
    trace_state=TEXTS,
    flags=UINT32,
    name=TEXTS,
    kind=st.integers(0, 5),
    start_time_unix_nano=UINT64,
    end_time_unix_nano=UINT64,
    attributes=ATTRIBUTES,
    events=st.lists(EVENTS, max_size=2),
    links=st.lists(LINKS, max_size=2),
    dropped_events_count=UINT32,
    status=st.builds(Status, message=TEXTS, code=st.integers(0, 2)),
)
RESOURCES = st.builds(Resource, attributes=ATTRIBUTES, dropped_attributes_count=UINT32)


@given(st.lists(SPANS, max_size=3), RESOURCES, TEXTS)
def test_protobuf_and_json_of_the_same_spans_give_the_same_rows(
    spans: list[Span], resource: Resource, scope_name: str
) -> None:
    request = request_of(*spans)
    request.resource_spans[0].resource.CopyFrom(resource)
    request.resource_spans[0].scope_spans[0].scope.name = scope_name
    from_protobuf, one = body_rows(encoded(request, "protobuf"), "protobuf")
    from_json, other = body_rows(encoded(request, "json"), "json")
    assert from_protobuf == from_json
    bad = [s for s in spans if len(s.trace_id) != 16 or not any(s.trace_id) or not any(s.span_id)]
    assert one.rejected == other.rejected == len(bad)


@given(VALUES, ATTRIBUTES, UINT64, st.integers(0, 24))
def test_protobuf_and_json_of_the_same_log_record_give_the_same_row(
    body: AnyValue, attributes: list[KeyValue], time_unix_nano: int, severity: int
) -> None:
    log = make_log(
        body=body,
        attributes=attributes,
        time_unix_nano=time_unix_nano,
        severity_number=severity,
    )
    request = logs_request_of(log)
    from_protobuf, _ = body_rows(encoded(request, "protobuf"), "protobuf", "logs")
    assert from_protobuf == body_rows(encoded(request, "json"), "json", "logs")[0]
    assert len(from_protobuf) == 1


@given(SPANS, RESOURCES)
def test_json_columns_hold_json_that_every_parser_takes(span: Span, resource: Resource) -> None:
    request = request_of(span)
    request.resource_spans[0].resource.CopyFrom(resource)
    for row in body_rows(encoded(request, "protobuf"), "protobuf")[0]:
        for name in ("attributes", "events", "links", "resource", "scope"):
            json.loads(row[name], parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is not JSON")


@given(st.binary(max_size=200), st.sampled_from(["traces", "logs", "metrics"]))
def test_any_bytes_are_decoded_or_malformed(body: bytes, signal: Any) -> None:
    for encoding in ("protobuf", "json"):
        with contextlib.suppress(MalformedRequest, TooLarge):
            decode(signal, encoding, body, Limits())


_NAMES = st.sampled_from(
    ["resourceSpans", "scopeSpans", "spans", "resource", "scope", "attributes", "key", "value",
     "traceId", "spanId", "events", "links", "status", "kind", "arrayValue", "values", "intValue",
     "resourceLogs", "scopeLogs", "logRecords", "resourceMetrics", "scopeMetrics", "metrics",
     "gauge", "dataPoints", "body", "doubleValue", "kvlistValue", "bytesValue", ""]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES | TEXTS, inner, max_size=4),
)


@given(JSON, st.sampled_from(["traces", "logs", "metrics"]))
def test_any_json_is_decoded_or_malformed(document: Any, signal: Any) -> None:
    with contextlib.suppress(MalformedRequest):
        decode(signal, "json", json.dumps(document).encode(), Limits())


@given(JSON)
def test_any_json_in_the_place_of_a_span_is_a_row_or_rejected(document: Any) -> None:
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [document, document]}]}]})
    rows, found = body_rows(body.encode(), "json")
    assert len(rows) + found.rejected == 2


@given(st.binary(max_size=60), st.integers(0, 3))
def test_a_span_of_any_bytes_spares_the_others(noise: bytes, position: int) -> None:
    good = [make_span(n).SerializeToString() for n in range(1, 4)]
    good.insert(position, noise)
    rows, found = body_rows(raw_request(*good), "protobuf")
    assert len(rows) + found.rejected == 4
    assert {row["span_id"] for row in rows} >= {f"{n:016x}" for n in range(1, 4)}


@given(SPANS, st.data())
def test_flipping_bits_of_one_span_or_cutting_it_spares_the_others(
    span: Span, data: st.DataObject
) -> None:
    raw = bytearray(span.SerializeToString())
    index = data.draw(st.integers(0, len(raw) - 1))
    raw[index] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, len(raw)))
    good = make_span(1).SerializeToString()
    for bad in (bytes(raw), bytes(raw[:cut])):
        rows, found = body_rows(raw_request(good, bad, good), "protobuf")
        assert len(rows) + found.rejected == 3
        assert [row["span_id"] for row in rows].count(f"{1:016x}") >= 2


@given(st.binary(max_size=60), st.integers(0, 2))
@settings(max_examples=200)
def test_a_json_span_of_any_bytes_without_brackets_spares_the_others(
    noise: bytes, position: int
) -> None:
    inner = noise.translate(None, b'{}[]"\\')
    good = [json.dumps(span).encode() for span in _json_spans(2)]
    good.insert(position, b'{"name": "' + inner + b'", ' + inner + b"}")
    body = b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + b",".join(good) + b"]}]}]}"
    rows, found = body_rows(body, "json")
    assert (len(rows), found.rejected) == (2, 1)


def _json_spans(count: int) -> list[Any]:
    request = to_json(request_of(*[make_span(n) for n in range(1, count + 1)]))
    spans: list[Any] = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return spans
