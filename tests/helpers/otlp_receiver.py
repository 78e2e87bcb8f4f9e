"""OTLP receivers that keep the log records they are sent: HTTP, and gRPC with scripted answers."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)

_SERVICE = "opentelemetry.proto.collector.logs.v1.LogsService"
Record = dict[str, Any]


def records_in(bodies: Sequence[bytes]) -> list[Record]:
    """Return the log records in requests as posted: ids, time, and attributes by their names."""
    requests = [ExportLogsServiceRequest.FromString(gzip.decompress(body)) for body in bodies]
    return [record for request in requests for record in records_of(request)]


def records_of(request: ExportLogsServiceRequest) -> Iterator[Record]:
    """Yield the log records of a request, those of the resource among the attributes."""
    for resource in request.resource_logs:
        shared = _attributes(resource.resource.attributes)
        for scope in resource.scope_logs:
            for record in scope.log_records:
                yield {
                    "event_name": record.event_name,
                    "trace_id": record.trace_id.hex(),
                    "span_id": record.span_id.hex(),
                    "time_ns": record.time_unix_nano,
                    **shared,
                    **_attributes(record.attributes),
                }


def _attributes(pairs: Any) -> Record:
    return {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in pairs}


@dataclass
class GrpcReceiver:
    """A running receiver; `codes` are answered one after the other, the last one from then on."""

    url: str = ""
    codes: list[grpc.StatusCode] = field(default_factory=lambda: [grpc.StatusCode.OK])
    requests: list[ExportLogsServiceRequest] = field(default_factory=list)
    metadata: list[dict[str, Any]] = field(default_factory=list)
    rejects: int = 0

    def export(
        self, request: ExportLogsServiceRequest, context: grpc.ServicerContext
    ) -> ExportLogsServiceResponse:
        """Answer as scripted; only what is answered OK is kept."""
        self.metadata.append(dict(context.invocation_metadata()))
        code = self.codes.pop(0) if len(self.codes) > 1 else self.codes[0]
        if code is not grpc.StatusCode.OK:
            context.abort(code, "as scripted")
        self.requests.append(request)
        response = ExportLogsServiceResponse()
        response.partial_success.rejected_log_records = self.rejects
        return response

    def records(self) -> list[Record]:
        """Return the log records that were taken."""
        return [record for request in self.requests for record in records_of(request)]


@contextmanager
def grpc_receiver() -> Iterator[GrpcReceiver]:
    """Give a running receiver of OTLP/gRPC."""
    state = GrpcReceiver()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    export = grpc.unary_unary_rpc_method_handler(
        state.export,
        request_deserializer=ExportLogsServiceRequest.FromString,
        response_serializer=ExportLogsServiceResponse.SerializeToString,
    )
    handler = grpc.method_handlers_generic_handler(_SERVICE, {"Export": export})
    server.add_generic_rpc_handlers([handler])
    state.url = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield state
    finally:
        server.stop(None).wait()
