"""What stands before every route: whose request it may be, and how large."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracejury_collector.api.problems import problem
from tracejury_collector.origins import Hosts, Refused, cross_origin, headers_of

_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
SMALL_BODY_BYTES = 1 << 20
_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
)


class OriginGuard:
    """Refuses requests that a web page of another origin makes a browser send."""

    def __init__(self, app: ASGIApp, listen: str, names: Sequence[str] = ()) -> None:
        self._app = app
        self._hosts = Hosts(listen, names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = headers_of(scope["headers"])
        refused = self._hosts.refusal(headers.get("host", ""))
        refused = refused or cross_origin(scope["method"], headers)
        if refused is not None:
            await refusal_of(refused)(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_SECURITY_HEADERS]
            await send(message)

        await self._app(scope, receive, guarded)


def refusal_of(refused: Refused) -> Response:
    """Return the answer to a request that a browser may have been made to send."""
    title = "Unknown host" if refused.reason == "host" else "Cross-origin request"
    return problem(403, f"{refused.reason}_refused", title, refused.detail, refused.remedy)


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
        length = headers_of(scope["headers"]).get("content-length")
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
