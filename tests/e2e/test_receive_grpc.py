"""OTLP/gRPC over real sockets: every code and trailer that a sender may get."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.helpers.otlp import (
    export_logs,
    export_metrics,
    export_traces,
    logs_request_of,
    make_log,
    make_span,
    raw_request,
    request_of,
)
from tests.helpers.receiver import RunningReceiver, running_receiver
from tracejury_collector.receive import replies

EXPORT_TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningReceiver]:
    with running_receiver(tmp_path_factory.mktemp("r"), decompressed_bytes=6 << 20) as receiver:
        yield receiver


@pytest.fixture
def receiver(running: RunningReceiver) -> RunningReceiver:
    running.call(running.store.forget)
    return running


@pytest.fixture
def channel(receiver: RunningReceiver) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(receiver.grpc_address) as opened:
        yield opened


def refusal(call: Any, *args: Any, **kwargs: Any) -> tuple[grpc.RpcError, dict[str, bytes]]:
    """Return the error of a call that must fail, and its trailers."""
    with pytest.raises(grpc.RpcError) as caught:
        call(*args, **kwargs)
    error = caught.value
    return error, {item.key: item.value for item in error.trailing_metadata() or ()}


@pytest.mark.parametrize(
    "compression",
    [grpc.Compression.NoCompression, grpc.Compression.Gzip, grpc.Compression.Deflate],
)
def test_success_leaves_partial_success_unset(
    receiver: RunningReceiver, channel: grpc.Channel, compression: grpc.Compression
) -> None:
    response = export_traces(channel)(request_of(make_span()), compression=compression)
    assert response == ExportTraceServiceResponse()
    assert not response.HasField("partial_success")
    assert receiver.rows()[0]["name"] == "span 1"


def test_logs_are_taken(receiver: RunningReceiver, channel: grpc.Channel) -> None:
    response = export_logs(channel)(logs_request_of(make_log()))
    assert response == ExportLogsServiceResponse()
    assert receiver.rows("logs")[0]["event_name"] == "e"


def test_one_bad_span_in_512_is_rejected_and_the_others_are_stored(
    receiver: RunningReceiver, channel: grpc.Channel
) -> None:
    spans = [make_span(n).SerializeToString() for n in range(1, 512)]
    export = channel.unary_unary(EXPORT_TRACES)
    reply = export(raw_request(*spans, b"\x2a\x02\xff\xfe"))
    partial = ExportTraceServiceResponse.FromString(reply).partial_success
    assert partial.rejected_spans == 1
    assert "cannot be decoded" in partial.error_message
    assert len(receiver.rows()) == 511


def test_metrics_are_answered_ok_and_all_rejected(channel: grpc.Channel) -> None:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add()
    metric.histogram.data_points.add()
    response = export_metrics(channel)(request)
    assert response.partial_success.rejected_data_points == 1
    assert "not kept" in response.partial_success.error_message


def test_a_body_that_cannot_be_read_is_invalid_argument(channel: grpc.Channel) -> None:
    error, trailers = refusal(channel.unary_unary(EXPORT_TRACES), b"\xff\xff")
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    status = Status.FromString(trailers["grpc-status-details-bin"])
    assert status.code == 3
    assert status.details[0].Is(BadRequest.DESCRIPTOR)


def test_too_many_spans_are_resource_exhausted_and_not_to_be_retried(
    tmp_path: Path,
) -> None:
    with (
        running_receiver(tmp_path, spans_per_request=2) as receiver,
        grpc.insecure_channel(receiver.grpc_address) as channel,
    ):
        spans = [make_span(n) for n in range(1, 4)]
        error, trailers = refusal(export_traces(channel), request_of(*spans))
    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not Status.FromString(trailers["grpc-status-details-bin"]).details
    assert "google.rpc.retryinfo-bin" not in trailers


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_message_over_the_limit_is_resource_exhausted_and_not_to_be_retried(
    channel: grpc.Channel, compression: grpc.Compression
) -> None:
    export = channel.unary_unary(EXPORT_TRACES)
    error, trailers = refusal(export, bytes(7 << 20), compression=compression)
    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "google.rpc.retryinfo-bin" not in trailers
    assert export(b"") == b""


def test_a_message_over_the_default_limit_of_grpc_is_taken(
    receiver: RunningReceiver, channel: grpc.Channel
) -> None:
    span = make_span()
    span.attributes.add(key="k").value.string_value = "x" * (5 << 20)
    export_traces(channel)(request_of(span))
    assert len(receiver.rows()) == 1


def test_a_disk_that_takes_nothing_is_unavailable_with_both_retry_trailers(tmp_path: Path) -> None:
    with (
        running_receiver(tmp_path) as receiver,
        grpc.insecure_channel(receiver.grpc_address) as channel,
    ):
        receiver.journal.write_bytes(b"")
        error, trailers = refusal(export_traces(channel), request_of(make_span()))
    assert error.code() == grpc.StatusCode.UNAVAILABLE
    retry, for_python = RetryInfo(), RetryInfo.FromString(trailers["google.rpc.retryinfo-bin"])
    assert Status.FromString(trailers["grpc-status-details-bin"]).details[0].Unpack(retry)
    assert retry.retry_delay.seconds == for_python.retry_delay.seconds == 1


def test_a_full_receiver_is_unavailable_after_a_short_wait(tmp_path: Path) -> None:
    with (
        running_receiver(tmp_path, in_flight_bytes=10, wait="50ms") as receiver,
        grpc.insecure_channel(receiver.grpc_address) as channel,
    ):
        receiver.call(receiver.store.hold.clear)
        export = export_traces(channel)
        assert export(request_of(make_span(1))) == ExportTraceServiceResponse()
        error, trailers = refusal(export, request_of(make_span(2)))
        assert error.code() == grpc.StatusCode.UNAVAILABLE
        assert "google.rpc.retryinfo-bin" in trailers
        receiver.call(receiver.store.hold.set)
        receiver.settle()
        assert export(request_of(make_span(3))) == ExportTraceServiceResponse()


def test_a_call_that_its_sender_cancels_gives_its_bytes_back(tmp_path: Path) -> None:
    with (
        running_receiver(tmp_path, in_flight_bytes=10, wait="5s") as receiver,
        grpc.insecure_channel(receiver.grpc_address) as channel,
    ):
        receiver.call(receiver.store.hold.clear)
        export = export_traces(channel)
        export(request_of(make_span(1)))
        waiting = export.future(request_of(make_span(2)))
        time.sleep(0.2)
        waiting.cancel()
        receiver.call(receiver.store.hold.set)
        assert export(request_of(make_span(3))) == ExportTraceServiceResponse()
        assert "span 3" in {row["name"] for row in receiver.rows()}


def test_an_unknown_method_is_unimplemented(channel: grpc.Channel) -> None:
    error, _ = refusal(channel.unary_unary("/nobody.Knows/This"), b"")
    assert error.code() == grpc.StatusCode.UNIMPLEMENTED


def test_an_unexpected_error_is_internal_and_tells_nothing_inside(
    channel: grpc.Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies, "success", None)
    error, _ = refusal(export_traces(channel), request_of(make_span()))
    assert error.code() == grpc.StatusCode.INTERNAL
    assert error.details() == "internal error"
