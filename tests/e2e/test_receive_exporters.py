"""Stock exporters against the real sockets."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import (
    OTLPLogExporter as GrpcLogExporter,
)
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (
    OTLPSpanExporter as GrpcSpanExporter,
)
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import (
    OTLPLogExporter as HttpLogExporter,
)
from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
    OTLPSpanExporter as HttpSpanExporter,
)
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import SpanKind, Status, StatusCode

from tests.helpers.node import installed_project
from tests.helpers.otlp import encoded, make_span, request_of
from tests.helpers.receiver import RunningReceiver, running_receiver

PROTOBUF = {"content-type": "application/x-protobuf"}
ATTRIBUTES: dict[str, Any] = {
    "text": "héllo",
    "count": 42,
    "ratio": 0.5,
    "yes": True,
    "list": ("a", "b"),
}

MakeExporter = Callable[[RunningReceiver], SpanExporter]
PYTHON: list[Any] = [
    pytest.param(
        lambda r: GrpcSpanExporter(
            endpoint=r.grpc_address, insecure=True, compression=grpc.Compression.Gzip
        ),
        id="gRPC with gzip",
    ),
    pytest.param(lambda r: GrpcSpanExporter(endpoint=r.grpc_address, insecure=True), id="gRPC"),
    pytest.param(
        lambda r: HttpSpanExporter(
            endpoint=f"{r.http_url}/v1/traces", compression=Compression.Gzip
        ),
        id="HTTP with gzip",
    ),
    pytest.param(
        lambda r: HttpSpanExporter(
            endpoint=f"{r.http_url}/v1/traces", compression=Compression.Deflate
        ),
        id="HTTP with deflate",
    ),
    pytest.param(lambda r: HttpSpanExporter(endpoint=f"{r.http_url}/v1/traces"), id="HTTP"),
]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningReceiver]:
    with running_receiver(tmp_path_factory.mktemp("receiver")) as receiver:
        yield receiver


@pytest.fixture
def receiver(running: RunningReceiver) -> RunningReceiver:
    running.call(running.store.forget)
    return running


def send_trace(exporter: SpanExporter) -> None:
    """Send one trace of two spans through `exporter`."""
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("py-agent", "1.2.3")
    with tracer.start_as_current_span("root", attributes=ATTRIBUTES):
        child = tracer.start_span("chat", kind=SpanKind.CLIENT)
        child.add_event("thought", {"step": 1})
        child.set_status(Status(StatusCode.ERROR, "no"))
        child.end()
    assert provider.force_flush(20_000)
    provider.shutdown()


def check_trace(rows: list[dict[str, Any]]) -> None:
    """Check the two spans that every sender of these tests sends."""
    child, root = sorted(rows, key=lambda row: row["parent_span_id"] == "")
    assert child["parent_span_id"] == root["span_id"]
    assert json.loads(root["attributes"]) == {**ATTRIBUTES, "list": ["a", "b"]}
    assert (child["name"], child["otel_kind"]) == ("chat", "client")
    assert (child["status"], child["status_message"]) == ("error", "no")
    event = json.loads(child["events"])[0]
    assert (event["name"], event["attributes"]) == ("thought", {"step": 1})
    assert child["duration_ns"] >= 0


@pytest.mark.parametrize("make_exporter", PYTHON)
def test_a_python_exporter_is_understood(
    receiver: RunningReceiver, make_exporter: MakeExporter
) -> None:
    send_trace(make_exporter(receiver))
    rows = receiver.rows()
    check_trace(rows)
    assert {row["service_name"] for row in rows} == {"shop"}
    assert json.loads(rows[0]["scope"]) == {"name": "py-agent", "version": "1.2.3"}


@pytest.mark.parametrize("make_exporter", PYTHON[:3])
def test_a_python_exporter_loses_nothing_in_a_short_overload(
    tmp_path: Path, make_exporter: MakeExporter
) -> None:
    with running_receiver(tmp_path, in_flight_bytes=10, wait="50ms") as receiver:
        receiver.call(receiver.store.hold.clear)
        fill = encoded(request_of(make_span()), "protobuf")
        url = f"{receiver.http_url}/v1/traces"
        assert httpx.post(url, content=fill, headers=PROTOBUF).status_code == 200
        opening = threading.Timer(1.5, receiver.call, [receiver.store.hold.set])
        opening.start()
        send_trace(make_exporter(receiver))
        opening.join()
        check_trace(receiver.rows()[1:])
        receiver.wait_for(lambda: "spans" in receiver.store.accounts)
        assert receiver.store.accounts["spans"]["shed_requests"] >= 1


@pytest.mark.parametrize("over_grpc", [True, False])
def test_a_python_log_exporter_is_understood(receiver: RunningReceiver, over_grpc: bool) -> None:
    exporter: Any = (
        GrpcLogExporter(endpoint=receiver.grpc_address, insecure=True)
        if over_grpc
        else HttpLogExporter(endpoint=f"{receiver.http_url}/v1/logs")
    )
    tracer = TracerProvider().get_tracer("t")
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    with tracer.start_as_current_span("root") as span:
        provider.get_logger("py-agent").emit(event_name="said", body={"content": "hi"})
    provider.shutdown()
    row = receiver.rows("logs")[0]
    assert row["trace_id"] == f"{span.get_span_context().trace_id:032x}"
    assert row["span_id"] == f"{span.get_span_context().span_id:016x}"
    assert (row["event_name"], json.loads(row["body"])) == ("said", {"content": "hi"})


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_javascript_exporter_is_understood(receiver: RunningReceiver, compression: str) -> None:
    command = ["node", "export.mjs", receiver.http_url, compression]
    done = subprocess.run(
        command, cwd=installed_project(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    sent = json.loads(done.stdout)
    rows = receiver.rows()
    check_trace(rows)
    assert {row["span_id"] for row in rows} == {sent[n]["spanId"] for n in ("root", "child")}
    assert {row["trace_id"] for row in rows} == {sent["root"]["traceId"]}
    log = receiver.rows("logs")[0]
    assert (log["trace_id"], log["span_id"]) == (sent["root"]["traceId"], sent["root"]["spanId"])
    assert (log["event_name"], json.loads(log["body"])) == ("said", {"content": "hi"})
