"""OTLP/HTTP over real sockets: every status, header and body that a sender may get."""

from __future__ import annotations

import gzip
import json
import socket
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import zstandard
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.helpers.otlp import encoded, logs_request_of, make_log, make_span, request_of
from tests.helpers.receiver import RunningReceiver, running_receiver
from tracejury_collector.receive import replies
from tracejury_collector.receive.otlp import Encoding

MEDIA = {"protobuf": "application/x-protobuf", "json": "application/json"}
ENCODINGS: list[Encoding] = ["protobuf", "json"]
PROTOBUF = {"content-type": MEDIA["protobuf"]}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningReceiver]:
    folder = tmp_path_factory.mktemp("receiver")
    with running_receiver(folder, request_bytes=100_000, decompressed_bytes=200_000) as receiver:
        yield receiver


@pytest.fixture
def receiver(running: RunningReceiver) -> RunningReceiver:
    running.call(running.store.forget)
    return running


@pytest.fixture
def client(receiver: RunningReceiver) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=receiver.http_url, timeout=20) as http:
        yield http


def status_of(response: httpx.Response) -> Status:
    """Return the google.rpc.Status in the body, whatever its encoding."""
    if response.headers["content-type"] == MEDIA["json"]:
        document = response.json()
        return Status(code=document["code"], message=document["message"])
    return Status.FromString(response.content)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("signal", ["traces", "logs"])
def test_success_leaves_partial_success_unset(
    receiver: RunningReceiver, client: httpx.Client, encoding: Encoding, signal: str
) -> None:
    request: Any = request_of(make_span()) if signal == "traces" else logs_request_of(make_log())
    headers = {"content-type": f"{MEDIA[encoding]}; charset=utf-8"}
    response = client.post(f"/v1/{signal}", content=encoded(request, encoding), headers=headers)
    assert response.status_code == 200
    assert response.headers["content-type"] == MEDIA[encoding]
    assert response.content == (b"" if encoding == "protobuf" else b"{}")
    assert len(receiver.rows("spans" if signal == "traces" else "logs")) == 1


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", zstandard.compress),
    ],
)
def test_every_compression_is_taken(
    receiver: RunningReceiver, client: httpx.Client, encoding: Encoding, name: str, compress: Any
) -> None:
    response = client.post(
        "/v1/traces",
        content=compress(encoded(request_of(make_span()), encoding)),
        headers={"content-type": MEDIA[encoding], "content-encoding": name},
    )
    assert response.status_code == 200
    assert receiver.rows()[0]["name"] == "span 1"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_rejected_spans_are_counted_in_partial_success(
    receiver: RunningReceiver, client: httpx.Client, encoding: Encoding
) -> None:
    request = request_of(make_span(1), make_span(2, trace_id=b"short"))
    response = client.post(
        "/v1/traces", content=encoded(request, encoding), headers={"content-type": MEDIA[encoding]}
    )
    assert response.status_code == 200
    if encoding == "json":
        assert response.json()["partialSuccess"]["rejectedSpans"] == "1"
        assert "hex digits" in response.json()["partialSuccess"]["errorMessage"]
    else:
        partial = ExportTraceServiceResponse.FromString(response.content).partial_success
        assert partial.rejected_spans == 1
        assert "trace id" in partial.error_message
    receiver.settle()
    assert [r["rejected"] for r in receiver.store.requests if r["op"] == "append"] == [1]


def test_a_request_of_rejected_records_only_is_counted(
    receiver: RunningReceiver, client: httpx.Client
) -> None:
    request = logs_request_of(make_log(trace_id=b""), make_log(trace_id=b""))
    response = client.post("/v1/logs", content=encoded(request, "protobuf"), headers=PROTOBUF)
    partial = ExportLogsServiceResponse.FromString(response.content).partial_success
    assert partial.rejected_log_records == 2
    receiver.settle()
    assert receiver.store.accounts["logs"]["rejected"] == 2


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_metrics_are_answered_ok_and_all_rejected(
    receiver: RunningReceiver, client: httpx.Client, encoding: Encoding
) -> None:
    request = ExportMetricsServiceRequest()
    scoped = request.resource_metrics.add().scope_metrics.add()
    scoped.metrics.add(name="a").gauge.data_points.add(as_int=1)
    scoped.metrics.add(name="b").sum.data_points.add(as_int=1)
    scoped.metrics[1].sum.data_points.add(as_int=2)
    response = client.post(
        "/v1/metrics", content=encoded(request, encoding), headers={"content-type": MEDIA[encoding]}
    )
    assert response.status_code == 200
    if encoding == "json":
        assert response.json()["partialSuccess"]["rejectedDataPoints"] == "3"
    else:
        partial = ExportMetricsServiceResponse.FromString(response.content).partial_success
        assert partial.rejected_data_points == 3
        assert "not kept" in partial.error_message


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("signal", ["traces", "logs", "metrics"])
def test_a_body_that_cannot_be_read_is_400_with_a_status_in_its_encoding(
    client: httpx.Client, encoding: Encoding, signal: str
) -> None:
    response = client.post(
        f"/v1/{signal}", content=b"\xff{", headers={"content-type": MEDIA[encoding]}
    )
    assert response.status_code == 400
    assert response.headers["content-type"] == MEDIA[encoding]
    assert status_of(response).code == 3
    if encoding == "protobuf":
        detail = BadRequest()
        assert status_of(response).details[0].Unpack(detail)
        assert detail.field_violations[0].description


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/protobuf"},
        {},
        {"content-type": MEDIA["protobuf"], "content-encoding": "br"},
        {"content-type": MEDIA["protobuf"], "content-encoding": "gzip, gzip"},
    ],
)
def test_a_type_or_compression_that_is_not_spoken_is_415(
    client: httpx.Client, headers: dict[str, str]
) -> None:
    response = client.post("/v1/traces", content=b"", headers=headers)
    assert response.status_code == 415
    assert "use" in status_of(response).message


def test_other_methods_are_405_and_other_paths_404(client: httpx.Client) -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        response = client.request(method, "/v1/traces")
        assert response.status_code == 405
        assert response.headers["allow"] == "POST"
        assert status_of(response).code == 12
    response = client.post("/v1/profiles", headers=PROTOBUF)
    assert response.status_code == 404
    assert status_of(response).code == 5


def test_the_health_page_answers(client: httpx.Client) -> None:
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        pytest.param(b"x" * 100_001, {}, id="declared"),
        pytest.param(iter([b"x" * 60_000] * 2), {}, id="streamed"),
        pytest.param(
            gzip.compress(bytes(300_000)), {"content-encoding": "gzip"}, id="decompressed"
        ),
        pytest.param(
            zstandard.compress(bytes(50_000_000)), {"content-encoding": "zstd"}, id="bomb"
        ),
    ],
)
def test_a_body_over_the_limit_is_413(
    client: httpx.Client, body: Any, headers: dict[str, str]
) -> None:
    response = client.post("/v1/traces", content=body, headers={**PROTOBUF, **headers})
    assert response.status_code == 413
    assert status_of(response).code == 8
    assert "retry-after" not in response.headers
    assert client.get("/healthz").status_code == 200


def test_a_large_body_is_refused_on_its_declared_length_alone(receiver: RunningReceiver) -> None:
    with socket.create_connection(("127.0.0.1", receiver.http_port), 10) as connection:
        connection.sendall(
            b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 99999999999\r\n\r\n"
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_disk_that_takes_nothing_is_503_with_retry_after_one_until_it_does(
    tmp_path: Path, encoding: Encoding
) -> None:
    with (
        running_receiver(tmp_path) as receiver,
        httpx.Client(base_url=receiver.http_url, timeout=20) as client,
    ):
        receiver.journal.write_bytes(b"")
        body, headers = (
            encoded(request_of(make_span()), encoding),
            {"content-type": MEDIA[encoding]},
        )
        response = client.post("/v1/traces", content=body, headers=headers)
        assert response.status_code == 503
        assert response.headers["retry-after"] == "1"
        status = status_of(response)
        assert status.code == 14
        if encoding == "protobuf":
            retry = RetryInfo()
            assert status.details[0].Unpack(retry)
            assert retry.retry_delay.seconds == 1
        receiver.journal.unlink()
        assert client.post("/v1/traces", content=body, headers=headers).status_code == 200
        assert len(receiver.rows()) == 1


def test_a_full_receiver_is_503_and_counts_what_it_shed(tmp_path: Path) -> None:
    with (
        running_receiver(tmp_path, in_flight_bytes=10, wait="50ms") as receiver,
        httpx.Client(base_url=receiver.http_url, timeout=20) as client,
        socket.create_connection(("127.0.0.1", receiver.http_port), 10) as first,
    ):
        first.sendall(
            b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 10\r\n\r\n{"
        )
        time.sleep(0.2)
        body = encoded(request_of(make_span()), "protobuf")
        response = client.post("/v1/traces", content=body, headers=PROTOBUF)
        assert response.status_code == 503
        assert response.headers["retry-after"] == "1"
        receiver.wait_for(lambda: receiver.store.accounts.get("spans"))
        assert receiver.store.accounts["spans"]["shed_requests"] == 1
        first.sendall(b"}        ")
        assert first.recv(65536).startswith(b"HTTP/1.1 200")
        assert client.post("/v1/traces", content=body, headers=PROTOBUF).status_code == 200


def test_a_chunked_json_body_is_taken(receiver: RunningReceiver, client: httpx.Client) -> None:
    body = encoded(request_of(make_span()), "json")
    pieces = (body[i : i + 50] for i in range(0, len(body), 50))
    response = client.post("/v1/traces", content=pieces, headers={"content-type": MEDIA["json"]})
    assert response.status_code == 200
    assert json.loads(receiver.rows()[0]["attributes"]) == {}


def test_a_sender_that_hangs_up_in_the_middle_holds_nothing(tmp_path: Path) -> None:
    with (
        running_receiver(tmp_path, in_flight_bytes=10, wait="10s") as receiver,
        httpx.Client(base_url=receiver.http_url, timeout=20) as client,
    ):
        with socket.create_connection(("127.0.0.1", receiver.http_port), 10) as first:
            first.sendall(
                b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 500\r\n\r\n{"
            )
            time.sleep(0.1)
        body = encoded(request_of(make_span()), "protobuf")
        assert client.post("/v1/traces", content=body, headers=PROTOBUF).status_code == 200


def test_headers_without_end_cost_the_connection_and_no_memory(
    receiver: RunningReceiver, client: httpx.Client
) -> None:
    with socket.create_connection(("127.0.0.1", receiver.http_port), 10) as connection:
        connection.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            connection.sendall(b"x" * (20 << 20))
    assert client.get("/healthz").status_code == 200


def test_many_bodies_on_one_connection_are_no_long_header(
    receiver: RunningReceiver, client: httpx.Client
) -> None:
    span = make_span()
    span.attributes.add(key="k").value.string_value = "x" * 90_000
    body = encoded(request_of(span), "protobuf")
    codes = [
        client.post("/v1/traces", content=body, headers=PROTOBUF).status_code for _ in range(12)
    ]
    assert codes == [200] * 12


def test_an_unexpected_error_is_500_and_tells_nothing_inside(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies, "success", None)
    body = encoded(request_of(make_span()), "protobuf")
    response = client.post("/v1/traces", content=body, headers=PROTOBUF)
    assert response.status_code == 500
    assert status_of(response).message == "internal error"


def swelling_body() -> bytes:
    """Return a small body that decompresses into rows of 400 kB."""
    span = make_span()
    span.attributes.add(key="k").value.string_value = "x" * 400_000
    return gzip.compress(encoded(request_of(span), "protobuf"))


def test_rows_that_wait_for_the_store_hold_up_new_requests(tmp_path: Path) -> None:
    compressed = {**PROTOBUF, "content-encoding": "gzip"}
    with (
        running_receiver(tmp_path, in_flight_bytes=10_000, wait="100ms") as receiver,
        httpx.Client(base_url=receiver.http_url, timeout=20) as client,
        socket.create_connection(("127.0.0.1", receiver.http_port), 10) as early,
        ThreadPoolExecutor(1) as pool,
    ):
        early.sendall(
            b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 2\r\n\r\n{"
        )
        time.sleep(0.2)
        receiver.call(receiver.store.hold.clear)
        url = f"{receiver.http_url}/v1/traces"
        large = pool.submit(httpx.post, url, content=swelling_body(), headers=compressed)
        assert large.result(20).status_code == 200
        early.sendall(b"}")
        assert early.recv(65536).startswith(b"HTTP/1.1 503")
        assert client.post("/v1/traces", content=b"", headers=PROTOBUF).status_code == 503
        receiver.call(receiver.store.hold.set)
        receiver.settle()
        assert client.post("/v1/traces", content=b"", headers=PROTOBUF).status_code == 200
