"""Promise 12: whatever was sent comes back, field by field, over whichever way it was sent."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.helpers.otlp import request_of
from tests.helpers.stack import Stack, running_stack
from tests.helpers.transports import TRANSPORTS, Client, Transport, client_of
from tests.promises.accounting import assert_balanced, counted
from tests.promises.golden import (
    COLUMNS,
    Row,
    expected_rows,
    golden_request,
    plain_pairs,
    stored_row,
)
from tests.property.test_otlp_decode import ATTRIBUTES, TEXTS

FIRST_NS = 1_790_000_000_000_000_000
NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("stack")) as running:
        yield running
        assert_balanced(counted(running.api.context.db))


@pytest.fixture(scope="module")
def client(stack: Stack) -> Iterator[Client]:
    with client_of(stack.http_url, stack.grpc_address) as opened:
        yield opened


def new_trace_id() -> bytes:
    return next(NUMBERS).to_bytes(16, "big")


def stored(stack: Stack, trace_id: bytes) -> list[Row]:
    query = f"SELECT {COLUMNS} FROM spans WHERE trace_id = ? ORDER BY span_id"
    return [stored_row(values) for values in stack.sql(query, trace_id.hex())]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_field_of_every_pair_of_choices_comes_back(
    stack: Stack, client: Client, transport: Transport
) -> None:
    trace_id = new_trace_id()
    request = golden_request(trace_id)
    reply = client.send(transport, request)
    assert (reply.code, reply.rejected) == (0, 0), reply.message
    expected = expected_rows(request)
    assert len(expected) >= 30
    for found, wanted in zip(stored(stack, trace_id), expected, strict=True):
        assert found == wanted
    stack.finish()
    shown = stack.api.get(f"/api/traces/{trace_id.hex()}")["spans"]
    by_id = {span["span_id"]: span for span in shown}
    assert {span_id: by_id[span_id]["attributes"] for span_id in by_id} == {
        row["span_id"]: row["attributes"] for row in expected
    }
    for row in expected:
        assert [event["name"] for event in by_id[row["span_id"]]["events"]] == [
            event["name"] for event in row["events"]
        ]


@st.composite
def traces(draw: st.DrawFn) -> list[Span]:
    """Return the spans of one trace, each under one that began before, in any order."""
    count = draw(st.integers(1, 6))
    spans = []
    for number in range(1, count + 1):
        parent = draw(st.integers(1, number - 1)) if number > 1 else 0
        start_ns = FIRST_NS + number * 1000
        span = Span(
            span_id=number.to_bytes(8, "big"),
            parent_span_id=parent.to_bytes(8, "big") if parent else b"",
            name=draw(TEXTS),
            kind=draw(st.sampled_from(Span.SpanKind.values())),
            start_time_unix_nano=start_ns,
            end_time_unix_nano=start_ns + draw(st.integers(0, 10**12)),
            attributes=draw(ATTRIBUTES),
        )
        span.status.code = draw(st.sampled_from(Status.StatusCode.values()))
        spans.append(span)
    return draw(st.permutations(spans))


ANY = {"spans": traces(), "parts": st.integers(1, 3), "transport": st.sampled_from(TRANSPORTS)}
FIXTURES = [HealthCheck.function_scoped_fixture]


@given(**ANY)
@settings(max_examples=10, deadline=None, suppress_health_check=FIXTURES)
def test_an_assembled_trace_is_the_one_that_was_sent(
    stack: Stack, client: Client, spans: list[Span], parts: int, transport: Transport
) -> None:
    assert_comes_back(stack, client, spans, parts, transport)


@pytest.mark.slow
@given(**ANY)
@settings(max_examples=1000, deadline=None, suppress_health_check=FIXTURES)
def test_a_thousand_assembled_traces_are_those_that_were_sent(
    stack: Stack, client: Client, spans: list[Span], parts: int, transport: Transport
) -> None:
    assert_comes_back(stack, client, spans, parts, transport)


def assert_comes_back(
    stack: Stack, client: Client, spans: list[Span], parts: int, transport: Transport
) -> None:
    trace_id = new_trace_id()
    for span in spans:
        span.trace_id = trace_id
    for part in range(parts):
        reply = client.send(transport, request_of(*spans[part::parts]))
        assert (reply.code, reply.rejected) == (0, 0), reply.message
    stack.finish()
    shown = stack.api.get(f"/api/traces/{trace_id.hex()}")
    assert shown["status"] == "complete"
    found = {
        span["span_id"]: (span["parent_span_id"] or "", span["name"], span["attributes"])
        for span in shown["spans"]
    }
    assert found == {
        span.span_id.hex(): (span.parent_span_id.hex(), span.name, plain_pairs(span.attributes))
        for span in spans
    }
    assert len(shown["spans"]) == len(spans)
