"""The three ways in: OTLP/gRPC, OTLP/HTTP with protobuf, OTLP/HTTP with JSON."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

import grpc
import httpx
from google.protobuf import json_format
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.helpers.otlp import EXPORT_METHODS, encoded
from tracejury_collector.receive.otlp import Encoding, Signal

Transport = Literal["grpc", "protobuf", "json"]
TRANSPORTS: Final[tuple[Transport, ...]] = get_args(Transport)
ENCODINGS: Final[Mapping[Transport, Encoding]] = {
    "grpc": "protobuf",
    "protobuf": "protobuf",
    "json": "json",
}
_PATHS: Mapping[Signal, str] = {
    "traces": "/v1/traces",
    "logs": "/v1/logs",
    "metrics": "/v1/metrics",
}
_METHODS: Mapping[Signal, str] = dict(zip(_PATHS, EXPORT_METHODS, strict=True))
_MEDIA = {"protobuf": "application/x-protobuf", "json": "application/json"}
_RESPONSES: Mapping[Signal, Any] = {
    "traces": ExportTraceServiceResponse,
    "logs": ExportLogsServiceResponse,
    "metrics": ExportMetricsServiceResponse,
}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a sender learns.

    `code` is a number of google.rpc.Code, 0 when the request was taken; `status` the HTTP status,
    or the name of the gRPC status; `headers` are the trailers of gRPC, too.
    """

    code: int
    status: int | str
    response: Any = None
    error: Status = field(default_factory=Status)
    headers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rejected(self) -> int:
        """How many items the answer says were rejected."""
        partial = self.response.partial_success
        return sum(value for kind, value in partial.ListFields() if kind.name != "error_message")

    @property
    def message(self) -> str:
        """What the answer says of them."""
        return str(self.response.partial_success.error_message)


class Client:
    """Sends requests over any transport, each once."""

    def __init__(self, http: httpx.Client, channel: grpc.Channel) -> None:
        self._http = http
        self._channel = channel

    def send(self, transport: Transport, request: Message, signal: Signal = "traces") -> Reply:
        """Send a request and return the reply."""
        return self.send_body(transport, encoded(request, ENCODINGS[transport]), signal)

    def send_body(self, transport: Transport, body: bytes, signal: Signal = "traces") -> Reply:
        """Send bytes in the place of a request and return the reply."""
        if transport == "grpc":
            return self._call(body, signal)
        headers = {"content-type": _MEDIA[transport]}
        return self.post(body, headers, signal)

    def post(self, body: bytes, headers: Mapping[str, str], signal: Signal = "traces") -> Reply:
        """Send bytes over HTTP with these headers and return the reply."""
        answer = self._http.post(_PATHS[signal], content=body, headers=dict(headers))
        is_json = answer.headers.get("content-type") == _MEDIA["json"]
        message = (_RESPONSES[signal] if answer.status_code == 200 else Status)()
        if is_json:
            json_format.ParseDict(answer.json(), message)
        else:
            message.ParseFromString(answer.content)
        found = {k.lower(): v for k, v in answer.headers.items()}
        if answer.status_code == 200:
            return Reply(code=0, status=200, response=message, headers=found)
        return Reply(code=message.code, status=answer.status_code, error=message, headers=found)

    def _call(self, body: bytes, signal: Signal) -> Reply:
        export = self._channel.unary_unary(
            _METHODS[signal], response_deserializer=_RESPONSES[signal].FromString
        )
        try:
            return Reply(code=0, status="OK", response=export(body, timeout=60))
        except grpc.RpcError as error:
            trailers = {item.key: item.value for item in error.trailing_metadata() or ()}
            status = Status.FromString(trailers.get("grpc-status-details-bin", b""))
            return Reply(
                code=error.code().value[0],
                status=error.code().name,
                error=status,
                headers=trailers,
            )


@contextlib.contextmanager
def client_of(http_url: str, grpc_address: str) -> Iterator[Client]:
    """Give a client of both ports."""
    options = [("grpc.max_send_message_length", -1)]
    with (
        httpx.Client(base_url=http_url, timeout=60) as http,
        grpc.insecure_channel(grpc_address, options) as channel,
    ):
        yield Client(http, channel)
