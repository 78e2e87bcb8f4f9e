"""Builders of OTLP requests, and the OTLP/JSON of a protobuf request."""

from __future__ import annotations

import base64
import json
from typing import Any

import grpc
from google.protobuf import json_format
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2_grpc
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.helpers.fake_store import rows_of
from tracejury_collector.config import Limits
from tracejury_collector.receive.otlp import Decoded, Encoding, Signal, decode

TRACE_ID = bytes.fromhex("0af7651916cd43dd8448eb211c80319c")
EXPORT_METHODS = [
    f"/opentelemetry.proto.collector.{service}/Export"
    for service in (
        "trace.v1.TraceService",
        "logs.v1.LogsService",
        "metrics.v1.MetricsService",
    )
]
_IDS = {"traceId", "spanId", "parentSpanId"}


def make_span(number: int = 1, **fields: Any) -> Span:
    """Return a valid span whose id is `number`."""
    defaults = {
        "trace_id": TRACE_ID,
        "span_id": number.to_bytes(8, "big"),
        "name": f"span {number}",
        "start_time_unix_nano": 1_790_000_000_000_000_000,
        "end_time_unix_nano": 1_790_000_001_000_000_000,
    }
    return Span(**{**defaults, **fields})


def make_log(number: int = 1, **fields: Any) -> LogRecord:
    """Return a valid log record of span `number`."""
    defaults = {"trace_id": TRACE_ID, "span_id": number.to_bytes(8, "big"), "event_name": "e"}
    return LogRecord(**{**defaults, **fields})


def request_of(*spans: Span) -> ExportTraceServiceRequest:
    """Return a request with one resource and one scope."""
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.extend(spans)
    return request


def logs_request_of(*logs: LogRecord) -> ExportLogsServiceRequest:
    """Return a request with one resource and one scope."""
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.extend(logs)
    return request


def to_json(request: Message) -> dict[str, Any]:
    """Return the OTLP/JSON of the request: hex ids, numbers for enums."""
    document = json_format.MessageToDict(request, use_integers_for_enums=True)
    return _with_hex_ids(document)  # type: ignore[no-any-return]


def _with_hex_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64decode(item).hex()
        if key in _IDS and isinstance(item, str)
        else _with_hex_ids(item)
        for key, item in value.items()
    }


def encoded(request: Message, encoding: Encoding) -> bytes:
    """Return the request in `encoding`."""
    if encoding == "json":
        return json.dumps(to_json(request)).encode()
    data: bytes = request.SerializeToString()
    return data


def decoded_rows(
    request: Message, encoding: Encoding = "protobuf", **limits: Any
) -> tuple[list[dict[str, Any]], Decoded]:
    """Return the rows of the request, and the whole answer of the decoder."""
    signal: Signal = "logs" if isinstance(request, ExportLogsServiceRequest) else "traces"
    return body_rows(encoded(request, encoding), encoding, signal, **limits)


def body_rows(
    body: bytes, encoding: Encoding, signal: Signal = "traces", **limits: Any
) -> tuple[list[dict[str, Any]], Decoded]:
    """Return the rows of a body, and the whole answer of the decoder."""
    found = decode(signal, encoding, body, Limits(**limits))
    assert found.table is not None
    return rows_of(found.table), found


def nested(depth: int) -> dict[str, Any]:
    """Return an OTLP/JSON value of `depth` arrays inside one another."""
    value: dict[str, Any] = {"stringValue": "deep"}
    for _ in range(depth):
        value = {"arrayValue": {"values": [value]}}
    return value


def field(number: int, content: bytes) -> bytes:
    """Return a length-delimited protobuf field."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """Return the protobuf varint of a natural number."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def raw_request(*spans: bytes) -> bytes:
    """Return a trace request around spans that are bytes already, well-formed or not."""
    return field(1, field(2, b"".join(field(2, span) for span in spans)))


def export_traces(channel: grpc.Channel) -> Any:
    """Return the stock stub's call that exports traces."""
    return trace_service_pb2_grpc.TraceServiceStub(channel).Export  # type: ignore[no-untyped-call]


def export_logs(channel: grpc.Channel) -> Any:
    """Return the stock stub's call that exports log records."""
    return logs_service_pb2_grpc.LogsServiceStub(channel).Export  # type: ignore[no-untyped-call]


def export_metrics(channel: grpc.Channel) -> Any:
    """Return the stock stub's call that exports metrics."""
    return metrics_service_pb2_grpc.MetricsServiceStub(channel).Export  # type: ignore[no-untyped-call]
