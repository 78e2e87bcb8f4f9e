"""OTLP over gRPC: framing only; messages stay bytes until ingest decodes them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn, TypeAlias

import grpc
import grpc.aio

from tracejury_collector.errors import ConfigError, MalformedRequest, TooLarge, Unavailable
from tracejury_collector.receive import replies
from tracejury_collector.receive.ingest import ExportRequest, Ingest
from tracejury_collector.receive.otlp import Signal

_log = logging.getLogger(__name__)

_SERVICES: dict[str, Signal] = {
    "opentelemetry.proto.collector.trace.v1.TraceService": "traces",
    "opentelemetry.proto.collector.logs.v1.LogsService": "logs",
    "opentelemetry.proto.collector.metrics.v1.MetricsService": "metrics",
}
_STATUSES: tuple[tuple[type[Exception], grpc.StatusCode], ...] = (
    (Unavailable, grpc.StatusCode.UNAVAILABLE),
    (TooLarge, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (MalformedRequest, grpc.StatusCode.INVALID_ARGUMENT),
)
_STREAMS_PER_CONNECTION = 100

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Export: TypeAlias = Callable[[bytes, Context], Awaitable[bytes]]


def create_server(ingest: Ingest, address: str) -> grpc.aio.Server:
    """Return a server bound to `address`, not yet started.

    Raises: ConfigError when the address cannot be had.
    """
    server = grpc.aio.server(
        options=[
            ("grpc.so_reuseport", 1),
            ("grpc.max_receive_message_length", ingest.limits.decompressed_bytes),
            ("grpc.max_concurrent_streams", _STREAMS_PER_CONNECTION),
        ]
    )
    server.add_generic_rpc_handlers(
        [
            grpc.method_handlers_generic_handler(
                service, {"Export": grpc.unary_unary_rpc_method_handler(_handler(ingest, signal))}
            )
            for service, signal in _SERVICES.items()
        ]
    )
    try:
        server.add_insecure_port(address)
    except RuntimeError as error:
        raise ConfigError(f"cannot listen for OTLP/gRPC on {address!r}: {error}") from None
    return server


def _handler(ingest: Ingest, signal: Signal) -> Export:
    async def export(body: bytes, context: Context) -> bytes:
        request = ExportRequest(signal=signal, encoding="protobuf", body=body)
        try:
            async with ingest.admit(signal, len(body)) as reservation:
                return await ingest.export(request, reservation)
        except Exception as error:  # noqa: BLE001  the edge: no traceback goes over the wire
            await _abort(context, error)

    return export


async def _abort(context: Context, error: Exception) -> NoReturn:
    """End the call with the error's status, and when to come again in both known trailers.

    Go reads the standard one, Python `google.rpc.retryinfo-bin`.
    """
    found = (status for kind, status in _STATUSES if isinstance(error, kind))
    code = next(found, grpc.StatusCode.INTERNAL)
    if code == grpc.StatusCode.INTERNAL:
        _log.error("an export request failed", exc_info=error)
    status = replies.status_of(error)
    trailers = [("grpc-status-details-bin", status.SerializeToString())]
    if isinstance(error, Unavailable):
        trailers.append(("google.rpc.retryinfo-bin", replies.retry_info().SerializeToString()))
    await context.abort(code, status.message, tuple(trailers))
    raise AssertionError("abort returns")
