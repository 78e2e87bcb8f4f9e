"""Promise 12, of values that no agent should send: kept as they are, and shown without harm."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.helpers.otlp import encoded, field, make_span, raw_request, request_of, varint
from tests.helpers.stack import Stack, running_stack
from tests.helpers.transports import ENCODINGS, TRANSPORTS, Client, Transport, client_of
from tests.promises.accounting import assert_balanced, counted

NUMBERS = itertools.count(1)
LATEST_NS = 2**64 - 1
IDLE_NS = 130 * 1_000_000_000


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("stack")) as running:
        yield running
        assert_balanced(counted(running.api.context.db))


@pytest.fixture(scope="module")
def client(stack: Stack) -> Iterator[Client]:
    with client_of(stack.http_url, stack.grpc_address) as opened:
        yield opened


Spans = list[Any]


def _attributed(count: int, size: int = 1) -> Any:
    span = make_span(1)
    for number in range(count):
        span.attributes.add(key=f"k{number}").value.string_value = "x" * size
    return span


def _deep(depth: int) -> Any:
    span = make_span(1)
    value = span.attributes.add(key="deep").value
    for _ in range(depth):
        value = value.array_value.values.add()
    value.bool_value = True
    return span


HOSTILE: dict[str, tuple[Callable[[], Spans], int]] = {
    "no times": (lambda: [make_span(1, start_time_unix_nano=0, end_time_unix_nano=0)], 1),
    "the latest times": (
        lambda: [make_span(1, start_time_unix_nano=LATEST_NS, end_time_unix_nano=LATEST_NS)],
        1,
    ),
    "all of time": (
        lambda: [make_span(1, start_time_unix_nano=0, end_time_unix_nano=LATEST_NS)],
        1,
    ),
    "ended before it began": (lambda: [make_span(1, end_time_unix_nano=5)], 1),
    "the same span twice": (lambda: [make_span(1), make_span(1)], 1),
    "one id, two contents": (lambda: [make_span(1), make_span(1, name="another")], 2),
    "its own parent": (lambda: [make_span(1, parent_span_id=(1).to_bytes(8, "big"))], 1),
    "parents in a circle": (
        lambda: [make_span(n, parent_span_id=(n % 3 + 1).to_bytes(8, "big")) for n in range(1, 4)],
        3,
    ),
    "two roots": (lambda: [make_span(1), make_span(2)], 2),
    "no root": (lambda: [make_span(1, parent_span_id=b"nobody_1")], 1),
    "NUL and text that runs backwards": (lambda: [make_span(1, name="a\0b\u202ec\u2066")], 1),
    "markup": (lambda: [make_span(1, name="<script>alert(1)</script>{{7*7}}${x}")], 1),
    "as deep as it may": (lambda: [_deep(32)], 1),
    "a thousand deep names": (lambda: [make_span(1, name="." * 10_000)], 1),
    "an unknown kind": (lambda: [make_span(1, kind=77)], 1),
}


@pytest.mark.parametrize(
    "transport", [pytest.param("grpc", marks=pytest.mark.slow), "protobuf", "json"]
)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_values_are_stored_and_shown(
    stack: Stack, client: Client, transport: Transport, name: str
) -> None:
    make, rows = HOSTILE[name]
    trace_id = next(NUMBERS).to_bytes(16, "big")
    spans = make()
    for span in spans:
        span.trace_id = trace_id
    reply = client.send(transport, request_of(*spans))
    assert (reply.code, reply.rejected) == (0, 0), reply.message
    raw = "SELECT name, start_time_unix_nano, end_time_unix_nano FROM spans WHERE trace_id = ?"
    found = [(n, int(s), int(e)) for n, s, e in stack.sql(raw, trace_id.hex())]
    sent = {(s.name, s.start_time_unix_nano, s.end_time_unix_nano) for s in spans}
    assert (len(found), set(found)) == (rows, sent)
    _assert_shown(stack, trace_id)


def _assert_shown(stack: Stack, trace_id: bytes) -> dict[str, Any]:
    stack.api.clock.now_ns += IDLE_NS  # some have no root that ended
    stack.finish()
    shown = stack.api.http.get(f"/api/traces/{trace_id.hex()}")
    assert shown.status_code == 200
    assert stack.api.get(f"/api/traces/{trace_id.hex()}/explain")["lines"]
    document: dict[str, Any] = json.loads(shown.text, parse_constant=_refuse)
    assert document["status"] == "complete"
    return document


def _refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is not JSON")


@pytest.mark.parametrize("transport", ["grpc", "protobuf"])
def test_fields_of_another_wire_type_are_as_unknown_ones(
    stack: Stack, client: Client, transport: Transport
) -> None:
    trace_id = next(NUMBERS).to_bytes(16, "big")
    number_as_name = varint(5 << 3) + varint(77)
    text_as_time = field(7, b"soon")
    body = raw_request(
        make_span(1, trace_id=trace_id).SerializeToString() + number_as_name + text_as_time
    )
    reply = client.send_body(transport, body)
    assert (reply.code, reply.rejected) == (0, 0)
    assert _assert_shown(stack, trace_id)["spans"][0]["name"] == "span 1"


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_body_that_is_cut_short_is_refused_as_a_whole(
    stack: Stack, client: Client, transport: Transport, part: float
) -> None:
    trace_id = next(NUMBERS).to_bytes(16, "big")
    whole = encoded(request_of(make_span(1, trace_id=trace_id)), ENCODINGS[transport])
    reply = client.send_body(transport, whole[: int(part * len(whole))])
    assert (reply.code, reply.status) == (3, "INVALID_ARGUMENT" if transport == "grpc" else 400)
    assert stack.sql("SELECT count(*) FROM spans WHERE trace_id = ?", trace_id.hex()) == [[0]]


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_of_a_million_attributes_a_thousand_are_kept_and_the_rest_counted(
    stack: Stack, client: Client, transport: Transport
) -> None:
    trace_id = next(NUMBERS).to_bytes(16, "big")
    span = _attributed(1_000_000)
    span.trace_id = trace_id
    reply = client.send(transport, request_of(span))
    assert (reply.code, reply.rejected) == (0, 0), reply.message
    query = (
        "SELECT len(json_keys(attributes)), dropped_attributes_count FROM spans WHERE trace_id = ?"
    )
    assert stack.sql(query, trace_id.hex()) == [[1000, 999_000]]


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_text_of_twenty_megabytes_is_kept_whole(
    stack: Stack, client: Client, transport: Transport
) -> None:
    trace_id = next(NUMBERS).to_bytes(16, "big")
    span = _attributed(1, 20 << 20)
    span.trace_id = trace_id
    reply = client.send(transport, request_of(span))
    assert (reply.code, reply.rejected) == (0, 0), reply.message
    query = "SELECT strlen(attributes->>'$.k0') FROM spans WHERE trace_id = ?"
    assert stack.sql(query, trace_id.hex()) == [[20 << 20]]
