"""What stands before every route: whose request it may be, and how large."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracejury_collector.api.problems import problem

_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
SMALL_BODY_BYTES = 1 << 20
_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
)


class OriginGuard:
    """Refuses requests that a web page of another origin makes a browser send.

    The Host must name this machine's loopback, or the address the API is configured to listen on
    (any IP address where that is a wildcard): a name that was rebound to this address is neither.
    """

    def __init__(self, app: ASGIApp, listen: str) -> None:
        self._app = app
        self._listen = host_of(listen)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope["method"], _headers(scope))
        if refusal is not None:
            await refusal(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_SECURITY_HEADERS]
            await send(message)

        await self._app(scope, receive, guarded)

    def _refusal(self, method: str, headers: Mapping[str, str]) -> Response | None:
        host = headers.get("host", "")
        if not self._is_known(host):
            return problem(
                403,
                "host_refused",
                "Unknown host",
                f"the host {host!r} is not where this service listens",
                "use http://127.0.0.1 and the port, or the address of listen.api",
            )
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return _cross_origin(f"the origin {origin!r} is not this service")
        site = headers.get("sec-fetch-site", "none")
        navigates = headers.get("sec-fetch-mode") == "navigate" and method in ("GET", "HEAD")
        if site not in ("none", "same-origin") and not navigates:
            return _cross_origin(f"a page of another origin ({site}) made this request")
        return None

    def _is_known(self, host: str) -> bool:
        name = host_of(host)
        if name == "localhost" or name.endswith(".localhost") or name == self._listen:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self._listen in ("0.0.0.0", "::")


def _cross_origin(detail: str) -> Response:
    return problem(
        403,
        "origin_refused",
        "Cross-origin request",
        detail,
        "call the API from a program, or from the service's own page",
    )


def host_of(address: str) -> str:
    """Return the host in "host:port", lower-case, without brackets; "" where there is none."""
    text = address.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rpartition(":")[0] if text.count(":") == 1 else text


class BodyLimit:
    """Refuses bodies over the limit of their path before the route sees them.

    A body that announces no length is held here until it has ended.
    """

    def __init__(self, app: ASGIApp, limit_bytes: Callable[[str], int]) -> None:
        self._app = app
        self._limit_bytes = limit_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in _WITHOUT_BODY:
            await self._app(scope, receive, send)
            return
        limit = self._limit_bytes(scope["path"])
        length = _headers(scope).get("content-length")
        body = None
        if length is None:
            body = await _read_all(receive, limit)
        too_large = body is None if length is None else not length.isdigit() or int(length) > limit
        if too_large:
            refusal = problem(
                413,
                "too_large",
                "The request is too large",
                f"the body is over the limit of {limit} bytes here",
                "send less at a time, or raise limits.request_bytes",
                {"connection": "close"},
            )
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive if body is None else _replay(body, receive), send)


async def _read_all(receive: Receive, limit: int) -> bytes | None:
    """Return the whole body, None once it is over `limit`."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            return None
        if not message.get("more_body"):
            return b"".join(chunks)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body once, then what the connection says."""
    rest = [body]

    async def replayed() -> Message:
        if rest:
            return {"type": "http.request", "body": rest.pop(), "more_body": False}
        return await receive()

    return replayed


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name; of a repeated one, all values."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1")
        found[key] = f"{found[key]},{text}" if key in found else text
    return found
