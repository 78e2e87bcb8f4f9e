"""OTLP over HTTP: framing only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from google.rpc import code_pb2, status_pb2
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tracejury.errors import TracejuryError
from tracejury_collector.config import Limits
from tracejury_collector.errors import (
    Forbidden,
    HostRefused,
    MalformedRequest,
    OriginRefused,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
)
from tracejury_collector.keys.ring import ANYONE, Caller, KeyRing, authorize
from tracejury_collector.origins import Hosts, check_origin, headers_of
from tracejury_collector.receive import replies
from tracejury_collector.receive.admission import Reservation
from tracejury_collector.receive.decoding import ExportRequest
from tracejury_collector.receive.decompress import check_encoding
from tracejury_collector.receive.ingest import Ingest
from tracejury_collector.receive.otlp import Encoding, Signal

_log = logging.getLogger(__name__)

BODY_TIMEOUT_S = 10.0
"""How long a body may take to arrive; stock exporters give up on a request after as long.

A slower one is answered 503 and not 408, on which every stock exporter drops the batch.
"""

_STEP_BYTES = 1 << 20
_HEADERS = {
    HTTPStatus.UNAUTHORIZED: {"www-authenticate": 'Bearer realm="tracejury"'},
    HTTPStatus.SERVICE_UNAVAILABLE: {"retry-after": str(replies.RETRY_AFTER_S)},
}
_CONTENT_TYPES: dict[str, Encoding] = {
    "application/x-protobuf": "protobuf",
    "application/json": "json",
}
_MEDIA_TYPES = {encoding: name for name, encoding in _CONTENT_TYPES.items()}
_OPEN = "/healthz"
"""The one path that takes no key."""

_STATUSES: tuple[tuple[type[Exception], HTTPStatus], ...] = (
    (Unauthenticated, HTTPStatus.UNAUTHORIZED),
    (Forbidden, HTTPStatus.FORBIDDEN),
    (HostRefused, HTTPStatus.FORBIDDEN),
    (OriginRefused, HTTPStatus.FORBIDDEN),
    (Unavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (TooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (UnsupportedMediaType, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    (MalformedRequest, HTTPStatus.BAD_REQUEST),
)


def create_app(
    ingest: Ingest, keys: KeyRing, hosts: Hosts, *, body_timeout_s: float = BODY_TIMEOUT_S
) -> Starlette:
    """Return the ASGI application of the OTLP/HTTP port."""

    def export(signal: Signal) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            encoding = _CONTENT_TYPES.get(_content_type(request))
            try:
                if encoding is None:
                    raise UnsupportedMediaType(
                        f"content type {request.headers.get('content-type', '')!r} is not spoken "
                        f"here; use {' or '.join(_CONTENT_TYPES)}"
                    )
                reply = await _export(ingest, request, signal, encoding, body_timeout_s)
            except ClientDisconnect:
                return Response(status_code=499)
            except asyncio.CancelledError:  # the server stops; it waits for this answer
                return _error(Unavailable("the service is shutting down"), encoding or "json")
            except TracejuryError as error:
                return _error(error, encoding or "json")
            return Response(reply, media_type=_MEDIA_TYPES[encoding])

        return endpoint

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    signals: tuple[Signal, ...] = ("traces", "logs", "metrics")
    return Starlette(
        routes=[
            *[Route(f"/v1/{signal}", export(signal), methods=["POST"]) for signal in signals],
            Route(_OPEN, healthz),
        ],
        middleware=[Middleware(Guard, keys=keys, hosts=hosts)],
        exception_handlers={HTTPException: _no_such_route, Exception: _unexpected},
    )


class Guard:
    """Serves requests that no web page of another origin made, of callers who may send.

    A refusal is given before the body is read.
    """

    def __init__(self, app: ASGIApp, *, keys: KeyRing, hosts: Hosts) -> None:
        self._app = app
        self._keys = keys
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        try:
            request.state.caller = self._caller(request)
        except TracejuryError as error:
            self._keys.refusals.note(error)
            encoding = _CONTENT_TYPES.get(_content_type(request), "json")
            await _error(error, encoding)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _caller(self, request: Request) -> Caller:
        """Return who makes the request.

        Raises: HostRefused, OriginRefused, Unauthenticated, Forbidden, Unavailable
        """
        headers = headers_of(request.headers.raw)
        check_origin(request.method, headers)
        is_open = request.url.path == _OPEN
        caller = ANYONE if is_open else self._keys.caller(headers)
        if caller is ANYONE:
            self._hosts.check(headers.get("host", ""))
        authorize(caller, "ingest")
        return caller


async def _export(
    ingest: Ingest, request: Request, signal: Signal, encoding: Encoding, timeout_s: float
) -> bytes:
    compression = check_encoding(request.headers.get("content-encoding", ""))
    declared = request.headers.get("content-length")
    size = int(declared) if declared is not None else 0
    _check_size(size, ingest.limits)
    async with ingest.admit(signal, size) as reservation:
        body = await _read(request, reservation, ingest.limits, timeout_s)
        return await ingest.export(
            ExportRequest(
                signal=signal,
                encoding=encoding,
                body=body,
                compression=compression,
                project=request.state.caller.project,
            ),
            reservation,
        )


async def _read(
    request: Request, reservation: Reservation, limits: Limits, timeout_s: float
) -> bytes:
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout_s):
            async for piece in request.stream():
                size += len(piece)
                _check_size(size, limits)
                if size > reservation.size:
                    await reservation.extend_to(size + _STEP_BYTES)
                pieces.append(piece)
    except TimeoutError:
        raise Unavailable(f"the body did not arrive within {timeout_s:g} s") from None
    return b"".join(pieces)


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.request_bytes:
        raise TooLarge(
            f"the body is over {limits.request_bytes} bytes; send smaller batches, "
            "or raise limits.request_bytes"
        )


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _error(error: Exception, encoding: Encoding) -> Response:
    found = (status for kind, status in _STATUSES if isinstance(error, kind))
    code = next(found, HTTPStatus.INTERNAL_SERVER_ERROR)
    if code == HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("an export request failed", exc_info=error)
    return _status_response(replies.status_of(error), code, encoding, dict(_HEADERS.get(code, {})))


async def _no_such_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = code_pb2.NOT_FOUND if error.status_code == 404 else code_pb2.UNIMPLEMENTED
    message = (
        f"{request.method} {request.url.path} is not served here; POST to /v1/traces or /v1/logs"
    )
    encoding = _CONTENT_TYPES.get(_content_type(request), "json")
    return _status_response(
        status_pb2.Status(code=code, message=message),
        HTTPStatus(error.status_code),
        encoding,
        dict(error.headers or {}),
    )


async def _unexpected(request: Request, error: Exception) -> Response:
    return _error(error, _CONTENT_TYPES.get(_content_type(request), "json"))


def _status_response(
    status: status_pb2.Status, code: HTTPStatus, encoding: Encoding, headers: dict[str, str]
) -> Response:
    body = replies.encode(status, encoding)
    return Response(body, code, headers, media_type=_MEDIA_TYPES[encoding])
