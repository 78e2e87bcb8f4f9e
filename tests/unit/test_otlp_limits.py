"""Limits bound what one request can make the service hold; what is cut is counted."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from tests.helpers.otlp import (
    body_rows,
    decoded_rows,
    field,
    make_span,
    raw_request,
    request_of,
    to_json,
)
from tracejury_collector.config import Limits
from tracejury_collector.errors import TooLarge
from tracejury_collector.receive.otlp import Encoding, decode

ENCODINGS: list[Encoding] = ["protobuf", "json"]


def many_attributes(count: int, **fields: Any) -> Any:
    span = make_span(**fields)
    for number in range(count):
        span.attributes.add(key=f"k{number}").value.int_value = number
    return span


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_attributes_over_the_limit_are_cut_and_counted(encoding: Encoding) -> None:
    span = many_attributes(10, dropped_attributes_count=5)
    rows, _ = decoded_rows(request_of(span), encoding, attributes_per_span=4)
    assert json.loads(rows[0]["attributes"]) == {"k0": 0, "k1": 1, "k2": 2, "k3": 3}
    assert rows[0]["dropped_attributes_count"] == 11


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_counter_of_what_was_dropped_stops_at_its_largest_value(encoding: Encoding) -> None:
    span = many_attributes(10, dropped_attributes_count=2**32 - 1)
    rows, _ = decoded_rows(request_of(span), encoding, attributes_per_span=4)
    assert rows[0]["dropped_attributes_count"] == 2**32 - 1


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_hundred_thousand_attributes_become_a_thousand(encoding: Encoding) -> None:
    rows, _ = decoded_rows(request_of(many_attributes(100_000)), encoding)
    assert len(json.loads(rows[0]["attributes"])) == 1_000
    assert rows[0]["dropped_attributes_count"] == 99_000


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("padding", ["", "x" * 100_000])
def test_events_and_links_over_the_limit_are_cut_and_counted(
    encoding: Encoding, padding: str
) -> None:
    span = make_span(name=f"n{padding}", dropped_events_count=1)
    for number in range(5):
        span.events.add(name=f"e{number}")
        span.links.add(trace_id=b"t" * 16, span_id=b"s" * 8, flags=number)
    rows, _ = decoded_rows(request_of(span), encoding, events_per_span=2)
    assert [event["name"] for event in json.loads(rows[0]["events"])] == ["e0", "e1"]
    assert len(json.loads(rows[0]["links"])) == 2
    assert (rows[0]["dropped_events_count"], rows[0]["dropped_links_count"]) == (4, 3)
    assert rows[0]["name"] == f"n{padding}"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_attributes_of_events_links_resource_and_scope_are_limited_too(
    encoding: Encoding,
) -> None:
    span = make_span()
    request = request_of(span)
    scoped = request.resource_spans[0].scope_spans[0]
    inner = scoped.spans[0]
    holders = [
        inner.events.add(name="e"),
        inner.links.add(trace_id=b"t" * 16, span_id=b"s" * 8),
        request.resource_spans[0].resource,
        scoped.scope,
    ]
    for holder in holders:
        for number in range(5):
            holder.attributes.add(key=f"k{number}").value.bool_value = True
    rows, _ = decoded_rows(request, encoding, attributes_per_span=2)
    documents = [
        json.loads(rows[0]["events"])[0],
        json.loads(rows[0]["links"])[0],
        json.loads(rows[0]["resource"]),
        json.loads(rows[0]["scope"]),
    ]
    assert [len(document["attributes"]) for document in documents] == [2, 2, 2, 2]
    assert [document["dropped_attributes_count"] for document in documents] == [3, 3, 3, 3]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_more_spans_than_the_limit_are_refused(encoding: Encoding) -> None:
    request = request_of(*[make_span(n) for n in range(1, 12)])
    assert len(decoded_rows(request, encoding, spans_per_request=11)[0]) == 11
    with pytest.raises(TooLarge, match="more than 10 spans"):
        decoded_rows(request, encoding, spans_per_request=10)


def test_spans_are_counted_over_all_scopes() -> None:
    request = request_of(make_span(1))
    for _ in range(3):
        request.resource_spans.add().CopyFrom(request.resource_spans[0])
    with pytest.raises(TooLarge):
        decoded_rows(request, spans_per_request=3)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\x0a\x00" * (1 << 20), id="empty resources"),
        pytest.param(field(1, b"\x12\x00" * (1 << 20)), id="empty scopes"),
        pytest.param(field(1, field(2, b"\x12\x00" * (1 << 20))), id="empty spans"),
        pytest.param(field(1, b"\x0a\x00" * (1 << 20)), id="empty pieces of a resource"),
        pytest.param(b"\x7a\x00" * (1 << 20), id="unknown fields"),
    ],
)
def test_floods_of_empty_messages_are_refused_before_they_take_memory(body: bytes) -> None:
    assert _peak_bytes_of_refusing(body, "protobuf") < 12 << 20


def test_a_flood_of_json_brackets_is_refused_before_it_takes_memory() -> None:
    head = b'{"resourceSpans":[{"scopeSpans":[{"spans":['
    body = head + b"{}," * (3 << 19) + b"{}]}]}]}"
    assert _peak_bytes_of_refusing(body, "json") < 12 << 20


def _peak_bytes_of_refusing(body: bytes, encoding: Encoding) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            decode("traces", encoding, body, Limits(spans_per_request=5_000))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_span_of_millions_of_values_is_rejected_alone() -> None:
    array = field(5, b"\x0a\x00" * 600_000)
    bad = make_span(2).SerializeToString() + field(9, field(1, b"k") + field(2, array))
    rows, found = body_rows(raw_request(make_span().SerializeToString(), bad), "protobuf")
    assert (len(rows), found.rejected) == (1, 1)
    assert "values" in found.message


def test_a_json_span_of_millions_of_values_is_rejected_alone() -> None:
    document = to_json(request_of(make_span(1), make_span(2)))
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans[1]["attributes"] = [{"key": "k", "value": {"arrayValue": {"values": "HERE"}}}]
    body = json.dumps(document).replace('"HERE"', "[" + "{}," * 1_500_000 + "{}]").encode()
    rows, found = body_rows(body, "json")
    assert (len(rows), found.rejected) == (1, 1)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_text_of_twenty_megabytes_is_kept_whole(encoding: Encoding) -> None:
    text = 'prompt "quoted" {braces} ' * (20 << 20 >> 5)
    span = make_span()
    span.attributes.add(key="k").value.string_value = text
    rows, _ = decoded_rows(request_of(make_span(2), span), encoding)
    assert json.loads(rows[1]["attributes"]) == {"k": text}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_large_bodies_give_the_same_rows_as_small_ones(encoding: Encoding) -> None:
    spans = [many_attributes(20, span_id=n.to_bytes(8, "big")) for n in range(1, 30)]
    padding = make_span(30)
    padding.attributes.add(key="pad").value.string_value = "x" * (5 << 20)
    small, _ = decoded_rows(request_of(*spans), encoding)
    large, _ = decoded_rows(request_of(*spans, padding), encoding)
    assert large[:-1] == small


def test_a_large_resource_repeated_in_every_row_is_refused() -> None:
    request = request_of(*[make_span(n) for n in range(1, 101)])
    request.resource_spans[0].resource.attributes.add(key="k").value.string_value = "x" * 100_000
    with pytest.raises(TooLarge, match="repeated"):
        decoded_rows(request, decompressed_bytes=5_000_000)
