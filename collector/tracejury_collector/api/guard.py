"""What stands before every route: whose request it may be, and how large."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fastapi import FastAPI
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracejury.errors import TracejuryError
from tracejury_collector.api.access import OPEN, check_access
from tracejury_collector.api.problems import problem, refusal_of
from tracejury_collector.keys.ring import ANYONE, Caller, KeyRing
from tracejury_collector.origins import Hosts, check_origin, headers_of

_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
SMALL_BODY_BYTES = 1 << 20
_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
)


class Guard:
    """Serves requests that no web page of another origin made, of callers whose key counts.

    Where there are no keys, the Host must name this service: a page whose name was rebound to its
    address has another one. With keys such a page has none, and any name will do.
    """

    def __init__(
        self, app: ASGIApp, *, keys: KeyRing, hosts: Hosts, beside: Sequence[BaseRoute]
    ) -> None:
        self._app = app
        self._keys = keys
        self._hosts = hosts
        self._beside = beside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_SECURITY_HEADERS]
            await send(message)

        try:
            scope.setdefault("state", {})["caller"] = self._caller(scope)
        except TracejuryError as error:
            self._keys.refusals.note(error)
            await refusal_of(error)(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)

    def _caller(self, scope: Scope) -> Caller:
        """Return who makes the request.

        Raises: HostRefused, OriginRefused, Unauthenticated, Forbidden, Unavailable
        """
        headers = headers_of(scope["headers"])
        check_origin(scope["method"], headers)
        caller = ANYONE if scope["path"] == OPEN else self._keys.caller(headers)
        if caller is ANYONE:
            self._hosts.check(headers.get("host", ""))
        for route in self._beside:
            if route.matches(scope)[0] is Match.FULL:
                check_access(caller, _name_of(route))
        return caller


def _name_of(route: BaseRoute) -> str:
    """Return the name in the table of what is no route of FastAPI: a mount, a plain route."""
    path = getattr(route, "path", "")
    return f"GET {path}" if getattr(route, "methods", None) else f"* {path}"


def beside(app: FastAPI) -> Sequence[BaseRoute]:
    """Return what the app serves beside its routes, which check access by themselves."""
    return [route for route in app.routes if type(route) in (Mount, Route)]


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
