"""How an answer is sent: compressed where the client takes that, and not again where it has it."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import partial

from anyio import CancelScope, to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracejury_collector.api.accept import takes_gzip

SMALL_BYTES = 1 << 10
"""Below this compressing gains nothing."""

LARGE_BYTES = 64 << 10
"""Above this the work is done in a thread, so that no other connection waits for it."""

_LEVEL = 3
_CACHE_CONTROL = "private, no-cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What of a request decides how its answer is sent."""

    is_read: bool
    takes_gzip: bool
    has: str


class Representations:
    """Gives whole bodies that were read an ETag, and sends them compressed, or 304 in their place.

    The ETag is a hash of the body, unless the route knows a version; it is weak, for compression
    changes the bytes. Streams are sent as they are.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        asked = _Asked(
            is_read=scope["method"] == "GET",
            takes_gzip=takes_gzip(headers.get("accept-encoding", "")),
            has=headers.get("if-none-match", ""),
        )
        started: list[Message] = []

        async def represented(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
                return
            if started:
                start = started.pop()
                if not message.get("more_body"):
                    start, message = await _represent(asked, start, message)
                await send(start)
            await send(message)

        await self._app(scope, receive, represented)


async def _represent(asked: _Asked, start: Message, body: Message) -> tuple[Message, Message]:
    work = partial(_packed, asked, start, body)
    is_large = len(body.get("body", b"")) > LARGE_BYTES
    return await to_thread.run_sync(work) if is_large else work()


def _packed(asked: _Asked, start: Message, body: Message) -> tuple[Message, Message]:
    """Return the start and the body of an answer as they are sent."""
    content: bytes = body.get("body", b"")
    headers = MutableHeaders(raw=list(start["headers"]))
    if asked.is_read and start["status"] == 200:
        headers.setdefault("etag", f'W/"{hashlib.blake2b(content, digest_size=16).hexdigest()}"')
        headers.setdefault("cache-control", _CACHE_CONTROL)
        if _is_known(headers["etag"], asked.has):
            return _not_modified(start, headers), {**body, "body": b""}
    if len(content) >= SMALL_BYTES and "content-encoding" not in headers:
        headers.add_vary_header("accept-encoding")
        if asked.takes_gzip:
            content = gzip.compress(content, _LEVEL, mtime=0)
            headers["content-encoding"] = "gzip"
            headers["content-length"] = str(len(content))
    return {**start, "headers": headers.raw}, {**body, "body": content}


def _not_modified(start: Message, headers: MutableHeaders) -> Message:
    for name in ("content-type", "content-length", "content-encoding"):
        del headers[name]
    return {**start, "status": 304, "headers": headers.raw}


def _is_known(etag: str, has: str) -> bool:
    """Say whether If-None-Match names the ETag; weak and strong ones are alike to it."""
    known = {tag.strip().removeprefix("W/") for tag in has.split(",")}
    return has.strip() == "*" or etag.removeprefix("W/") in known


class HeadAsGet:
    """Answers HEAD with the start of what GET answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        with CancelScope() as rest:

            async def only_the_start(message: Message) -> None:
                if message["type"] != "http.response.start" or rest.cancel_called:
                    return
                await send(message)
                await send({"type": "http.response.body", "body": b""})
                rest.cancel()

            await self._app({**scope, "method": "GET"}, receive, only_the_start)
