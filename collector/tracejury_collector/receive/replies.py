"""The messages that answer an export request, in the request's encoding.

Source: OTLP specification, "OTLP/gRPC Response" and "OTLP/HTTP Response".
"""

from __future__ import annotations

from google.protobuf import json_format
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tracejury_collector.errors import (
    Forbidden,
    HostRefused,
    MalformedRequest,
    NotFound,
    OriginRefused,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
)
from tracejury_collector.receive.otlp import Encoding, Signal

RETRY_AFTER_S = 1
"""How long senders are asked to wait; longer than their own deadline makes some drop at once."""

_RESPONSES: dict[Signal, tuple[type[Message], str]] = {
    "traces": (ExportTraceServiceResponse, "rejected_spans"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records"),
    "metrics": (ExportMetricsServiceResponse, "rejected_data_points"),
}
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (Unavailable, code_pb2.UNAVAILABLE),
    (TooLarge, code_pb2.RESOURCE_EXHAUSTED),
    (Unauthenticated, code_pb2.UNAUTHENTICATED),
    (Forbidden, code_pb2.PERMISSION_DENIED),
    (HostRefused, code_pb2.PERMISSION_DENIED),
    (OriginRefused, code_pb2.PERMISSION_DENIED),
    (NotFound, code_pb2.NOT_FOUND),
    (UnsupportedMediaType, code_pb2.INVALID_ARGUMENT),
    (MalformedRequest, code_pb2.INVALID_ARGUMENT),
)


def success(signal: Signal, encoding: Encoding, rejected: int, message: str) -> bytes:
    """Return an Export…ServiceResponse; `partial_success` is set only if something is said."""
    response_type, rejected_field = _RESPONSES[signal]
    response = response_type()
    if rejected or message:
        partial = response.partial_success
        setattr(partial, rejected_field, rejected)
        partial.error_message = message
    return encode(response, encoding)


def status_of(error: Exception) -> status_pb2.Status:
    """Return the google.rpc.Status that tells a sender of `error`."""
    code = next((c for kind, c in _CODES if isinstance(error, kind)), code_pb2.INTERNAL)
    internal = code == code_pb2.INTERNAL
    status = status_pb2.Status(code=code, message="internal error" if internal else str(error))
    if code == code_pb2.UNAVAILABLE:
        status.details.add().Pack(retry_info())
    elif code == code_pb2.INVALID_ARGUMENT:
        violation = error_details_pb2.BadRequest.FieldViolation(
            field="body", description=str(error)
        )
        status.details.add().Pack(error_details_pb2.BadRequest(field_violations=[violation]))
    return status


def retry_info() -> error_details_pb2.RetryInfo:
    """Return the detail that asks to send again after a second."""
    return error_details_pb2.RetryInfo(retry_delay=Duration(seconds=RETRY_AFTER_S))


def encode(message: Message, encoding: Encoding) -> bytes:
    """Return the message in `encoding`."""
    if encoding == "json":
        text: str = json_format.MessageToJson(message, indent=None)
        return text.encode()
    data: bytes = message.SerializeToString()
    return data
