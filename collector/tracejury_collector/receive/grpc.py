"""OTLP over gRPC: framing only; messages stay bytes until ingest decodes them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import NoReturn, TypeAlias

import grpc
import grpc.aio

from tracejury.errors import TracejuryError
from tracejury_collector.errors import (
    ConfigError,
    Forbidden,
    MalformedRequest,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from tracejury_collector.keys.ring import Caller, KeyRing, authorize
from tracejury_collector.receive import replies
from tracejury_collector.receive.decoding import ExportRequest
from tracejury_collector.receive.ingest import Ingest
from tracejury_collector.receive.otlp import Signal

_log = logging.getLogger(__name__)

_SERVICES: dict[str, Signal] = {
    "opentelemetry.proto.collector.trace.v1.TraceService": "traces",
    "opentelemetry.proto.collector.logs.v1.LogsService": "logs",
    "opentelemetry.proto.collector.metrics.v1.MetricsService": "metrics",
}
_STATUSES: tuple[tuple[type[Exception], grpc.StatusCode], ...] = (
    (Unavailable, grpc.StatusCode.UNAVAILABLE),
    (Unauthenticated, grpc.StatusCode.UNAUTHENTICATED),
    (Forbidden, grpc.StatusCode.PERMISSION_DENIED),
    (TooLarge, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (MalformedRequest, grpc.StatusCode.INVALID_ARGUMENT),
)
_STREAMS_PER_CONNECTION = 100

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Export: TypeAlias = Callable[[bytes, Context], Awaitable[bytes]]


def create_server(ingest: Ingest, keys: KeyRing, address: str) -> grpc.aio.Server:
    """Return a server bound to `address`, not yet started.

    Raises: ConfigError when the address cannot be had.
    """
    server = grpc.aio.server(
        interceptors=[_Guard(keys)],
        options=[
            ("grpc.so_reuseport", 1),
            ("grpc.max_receive_message_length", ingest.limits.decompressed_bytes),
            ("grpc.max_concurrent_streams", _STREAMS_PER_CONNECTION),
        ],
    )
    server.add_generic_rpc_handlers(
        [
            grpc.method_handlers_generic_handler(
                service,
                {"Export": grpc.unary_unary_rpc_method_handler(_handler(ingest, keys, signal))},
            )
            for service, signal in _SERVICES.items()
        ]
    )
    try:
        server.add_insecure_port(address)
    except RuntimeError as error:
        raise ConfigError(f"cannot listen for OTLP/gRPC on {address!r}: {error}") from None
    return server


class _Guard(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Lets calls through whose key may send, to whatever method: before their message is read."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler]],
        details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler:
        """Return the handler of the method, or one that refuses the call."""
        try:
            _caller(self._keys, details.invocation_metadata)
        except TracejuryError as refusal:
            self._keys.refusals.note(refusal)
            error = refusal

            async def refuse(_messages: object, context: Context) -> bytes:
                await _abort(context, error)

            return grpc.stream_unary_rpc_method_handler(refuse)  # it reads no message
        return await continuation(details)


def _caller(keys: KeyRing, metadata: Iterable[tuple[str, str | bytes]] | None) -> Caller:
    """Return who makes a call.

    Raises: Unauthenticated, Forbidden, Unavailable
    """
    headers: dict[str, str] = {}
    for name, value in metadata or ():
        if isinstance(value, str):
            headers[name] = f"{headers[name]},{value}" if name in headers else value
    caller = keys.caller(headers)
    authorize(caller, "ingest")
    return caller


def _handler(ingest: Ingest, keys: KeyRing, signal: Signal) -> Export:
    async def export(body: bytes, context: Context) -> bytes:
        try:
            request = ExportRequest(
                signal=signal,
                encoding="protobuf",
                body=body,
                project=_caller(keys, context.invocation_metadata()).project,
            )
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
