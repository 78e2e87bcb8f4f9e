"""Promise 5: the rules of OTLP 1.11 for servers, each over gRPC, HTTP with protobuf and with JSON.

Source: opentelemetry-proto, docs/specification.md, version 1.11.0.
"""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import httpx
import pytest
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.helpers.otlp import (
    encoded,
    logs_request_of,
    make_log,
    make_span,
    request_of,
    to_json,
)
from tests.helpers.service import settle
from tests.helpers.stack import Stack, running_stack
from tests.helpers.transports import ENCODINGS, TRANSPORTS, Client, Reply, Transport, client_of
from tests.promises.accounting import assert_balanced, counted
from tracejury_collector.config import Limits
from tracejury_collector.receive.otlp import Signal

LIMIT_BYTES = 1 << 20
MOST_SPANS = 1000
MEDIA = {"protobuf": "application/x-protobuf", "json": "application/json"}
OVER_HTTP: tuple[Transport, ...] = ("protobuf", "json")
each_transport = pytest.mark.parametrize("transport", TRANSPORTS)
each_over_http = pytest.mark.parametrize("transport", OVER_HTTP)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(
        tmp_path_factory.mktemp("stack"),
        request_bytes=LIMIT_BYTES,
        decompressed_bytes=LIMIT_BYTES,
        spans_per_request=MOST_SPANS,
        in_flight_bytes=LIMIT_BYTES,
        wait="100ms",
    ) as running:
        yield running
        assert_balanced(counted(running.api.context.db))


@pytest.fixture(autouse=True)
def settled(stack: Stack) -> None:
    settle(stack.database)  # there is little room: what waits for the store would be in the way


@pytest.fixture(scope="module")
def client(stack: Stack) -> Iterator[Client]:
    with client_of(stack.http_url, stack.grpc_address) as opened:
        yield opened


def large(size: int) -> ExportTraceServiceRequest:
    """Return a request with one span of about this size."""
    span = make_span(1)
    span.attributes.add(key="k").value.string_value = "x" * size
    return request_of(span)


def is_refused_for_good(reply: Reply) -> bool:
    """Say whether no sender comes again with what was answered so."""
    trailers = {"google.rpc.retryinfo-bin", "retry-after"} & set(reply.headers)
    return reply.code != 14 and not trailers


# Success, partial success, nothing


@each_transport
@pytest.mark.parametrize("signal", ["traces", "logs"])
def test_success_leaves_partial_success_unset(
    client: Client, transport: Transport, signal: Signal
) -> None:
    request = request_of(make_span(1)) if signal == "traces" else logs_request_of(make_log(1))
    reply = client.send(transport, request, signal)
    assert (reply.code, reply.status) == (0, "OK" if transport == "grpc" else 200)
    assert not reply.response.HasField("partial_success")


@each_transport
@pytest.mark.parametrize("signal", ["traces", "logs"])
def test_what_is_rejected_is_counted_with_a_reason(
    client: Client, transport: Transport, signal: Signal
) -> None:
    request = (
        request_of(make_span(1), make_span(2, trace_id=b"short"))
        if signal == "traces"
        else logs_request_of(make_log(1), make_log(2, trace_id=b""))
    )
    reply = client.send(transport, request, signal)
    assert (reply.code, reply.rejected) == (0, 1)
    assert "rejected" in reply.message


@each_transport
@pytest.mark.parametrize(
    ("signal", "request_type"),
    [
        ("traces", ExportTraceServiceRequest),
        ("logs", ExportLogsServiceRequest),
        ("metrics", ExportMetricsServiceRequest),
    ],
)
def test_an_empty_request_succeeds(
    client: Client,
    transport: Transport,
    signal: Signal,
    request_type: type[ExportTraceServiceRequest],
) -> None:
    reply = client.send(transport, request_type(), signal)
    assert reply.code == 0
    assert not reply.response.HasField("partial_success")


@each_transport
def test_empty_envelopes_succeed(client: Client, transport: Transport) -> None:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add()
    request.resource_spans.add()
    assert client.send(transport, request).code == 0


@each_transport
def test_a_signal_that_is_not_kept_is_all_rejected(client: Client, transport: Transport) -> None:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add()
    metric.gauge.data_points.add()
    metric.gauge.data_points.add()
    reply = client.send(transport, request, "metrics")
    assert (reply.code, reply.rejected) == (0, 2)
    assert "not kept" in reply.message


# Sizes and compression


@each_transport
def test_none_and_gzip_are_taken(stack: Stack, client: Client, transport: Transport) -> None:
    body = encoded(request_of(make_span(1)), ENCODINGS[transport])
    assert client.send_body(transport, body).code == 0
    if transport == "grpc":
        with grpc.insecure_channel(stack.grpc_address, compression=grpc.Compression.Gzip) as zipped:
            export = zipped.unary_unary(
                "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
            )
            assert export(body, timeout=20) == b""
        return
    headers = {"content-type": MEDIA[transport], "content-encoding": "gzip"}
    assert client.post(gzip.compress(body), headers).code == 0


@each_transport
def test_a_request_over_the_limit_is_refused_for_good(client: Client, transport: Transport) -> None:
    reply = client.send(transport, large(LIMIT_BYTES + 1))
    assert reply.status == ("RESOURCE_EXHAUSTED" if transport == "grpc" else 413)
    assert is_refused_for_good(reply)


@each_transport
def test_the_limit_holds_after_decompression(
    stack: Stack, client: Client, transport: Transport
) -> None:
    body = encoded(large(LIMIT_BYTES + 1), ENCODINGS[transport])
    if transport == "grpc":
        gzipped = grpc.Compression.Gzip
        with (
            grpc.insecure_channel(stack.grpc_address, compression=gzipped) as zipped,
            httpx.Client() as unused,
        ):
            reply = Client(unused, zipped).send_body("grpc", body)
        assert reply.status == "RESOURCE_EXHAUSTED"
    else:
        headers = {"content-type": MEDIA[transport], "content-encoding": "gzip"}
        reply = client.post(gzip.compress(body), headers)
        assert reply.status == 413
    assert is_refused_for_good(reply)


def test_the_limits_are_those_that_are_recommended() -> None:
    assert Limits().request_bytes == Limits().decompressed_bytes == 64 << 20


@each_transport
def test_an_answer_stays_small_however_much_is_rejected(
    client: Client, transport: Transport
) -> None:
    bad = [make_span(n, trace_id=b"x" * (n % 5 + 1)) for n in range(1, MOST_SPANS)]
    reply = client.send(transport, request_of(*bad))
    assert reply.rejected == MOST_SPANS - 1
    assert len(reply.message) < 2000


# Bad data


@each_transport
@pytest.mark.parametrize("signal", ["traces", "logs", "metrics"])
def test_bad_data_is_refused_for_good_and_says_what_is_wrong(
    client: Client, transport: Transport, signal: Signal
) -> None:
    reply = client.send_body(transport, b"\xff{", signal)
    assert (reply.code, reply.status) == (3, "INVALID_ARGUMENT" if transport == "grpc" else 400)
    assert is_refused_for_good(reply)
    detail = BadRequest()
    assert reply.error.details[0].Unpack(detail)
    assert detail.field_violations[0].description


@each_over_http
@pytest.mark.parametrize("path", ["/v1/traces", "/v1/metrics", "/v1development/profiles"])
def test_errors_are_a_status_in_the_encoding_of_the_request(
    stack: Stack, transport: Transport, path: str
) -> None:
    answer = httpx.post(
        f"{stack.http_url}{path}", content=b"\xff{", headers={"content-type": MEDIA[transport]}
    )
    assert answer.status_code in (400, 404)
    assert answer.headers["content-type"] == MEDIA[transport]
    if transport == "json":
        assert answer.json()["message"]


# Throttling


@each_transport
def test_what_cannot_be_taken_now_is_asked_for_again_in_a_second(
    stack: Stack, client: Client, transport: Transport
) -> None:
    with socket.create_connection(("127.0.0.1", stack.http_port), 20) as slow:
        head = "POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        slow.sendall(f"{head}Content-Length: {LIMIT_BYTES}\r\n\r\n{{".encode())
        time.sleep(0.2)  # until it holds all the room there is
        reply = client.send(transport, request_of(make_span(1)))
        slow.sendall(b"}" + b" " * (LIMIT_BYTES - 2))
        assert slow.recv(65536).startswith(b"HTTP/1.1 200")
    assert (reply.code, reply.status) == (14, "UNAVAILABLE" if transport == "grpc" else 503)
    retry = RetryInfo()
    assert reply.error.details[0].Unpack(retry)
    assert retry.retry_delay.seconds == 1
    if transport == "grpc":
        for_python = RetryInfo.FromString(reply.headers["google.rpc.retryinfo-bin"])
        assert for_python.retry_delay.seconds == 1
    else:
        assert reply.headers["retry-after"] == "1"


# Content types, JSON, paths


@each_over_http
def test_the_type_of_the_answer_is_that_of_the_request(
    client: Client, transport: Transport
) -> None:
    reply = client.send(transport, request_of(make_span(1)))
    assert reply.headers["content-type"] == MEDIA[transport]


def test_another_content_type_is_not_spoken(stack: Stack) -> None:
    url = f"{stack.http_url}/v1/traces"
    answer = httpx.post(url, content=b"", headers={"content-type": "text/plain"})
    assert answer.status_code == 415


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_only_post_exports(stack: Stack, method: str) -> None:
    answer = httpx.request(method, f"{stack.http_url}/v1/traces")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_ids_in_json_are_hex_in_any_case(stack: Stack, client: Client) -> None:
    document = to_json(request_of(make_span(1, trace_id=bytes.fromhex("ab" * 16))))
    span = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span["traceId"] = span["traceId"].upper()
    assert client.send_body("json", json.dumps(document).encode()).code == 0
    assert stack.sql("SELECT count(*) FROM spans WHERE trace_id = ?", "ab" * 16) == [[1]]


@pytest.mark.parametrize("as_text", [True, False])
def test_numbers_of_64_bits_are_texts_or_numbers(
    stack: Stack, client: Client, as_text: bool
) -> None:
    trace_id = f"{'c' if as_text else 'd'}" * 32
    value: int | str = str(2**60 + 1) if as_text else 2**60 + 1
    span = {"traceId": trace_id, "spanId": "01" * 8, "name": "n", "startTimeUnixNano": value}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    assert client.send_body("json", body).code == 0
    query = "SELECT start_time_unix_nano FROM spans WHERE trace_id = ?"
    assert int(stack.sql(query, trace_id)[0][0]) == 2**60 + 1


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"unknown": 5}, id="of the request"),
        pytest.param({"resourceSpans": [{"unknown": [1], "scopeSpans": []}]}, id="of a resource"),
    ],
)
def test_unknown_fields_of_json_are_ignored(client: Client, document: object) -> None:
    assert client.send_body("json", json.dumps(document).encode()).code == 0


def test_names_with_underscores_are_unknown_fields(stack: Stack, client: Client) -> None:
    span = {"trace_id": "e" * 32, "span_id": "01" * 8, "name": "n"}
    body = json.dumps({"resource_spans": [{"scope_spans": [{"spans": [span]}]}]}).encode()
    assert client.send_body("json", body).code == 0
    assert stack.sql("SELECT count(*) FROM spans WHERE trace_id = ?", "e" * 32) == [[0]]


# Concurrency, duplicates


@each_transport
def test_requests_are_served_at_the_same_time(
    stack: Stack, client: Client, transport: Transport
) -> None:
    first = 10_000 * (1 + TRANSPORTS.index(transport))
    with ThreadPoolExecutor(16) as pool:
        replies = pool.map(
            lambda n: client.send(transport, request_of(make_span(n))), range(first, first + 64)
        )
        assert [reply.code for reply in replies] == [0] * 64


@each_transport
def test_what_is_sent_again_is_acknowledged_and_stored_once(
    stack: Stack, client: Client, transport: Transport
) -> None:
    trace_id = bytes([0xF0 + TRANSPORTS.index(transport)]) * 16
    for _ in range(3):
        assert client.send(transport, request_of(make_span(1, trace_id=trace_id))).code == 0
    query = "SELECT count(*) FROM spans WHERE trace_id = ?"
    assert stack.sql(query, trace_id.hex()) == [[1]]
