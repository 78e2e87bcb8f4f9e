"""uvicorn as every process of the service runs it: on an inherited socket, without its signals."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_KEEP_ALIVE_S = 75  # above the schedules of stock exporters, which reuse their connection


_MAX_HEAD_BYTES = 512 << 10  # far above what any client needs; httptools itself has no bound
_HEAD_S = 30.0  # for a request line and headers to arrive; uvicorn itself would wait for ever


class _BoundedProtocol(HttpToolsProtocol):
    """Closes a connection whose request line and headers do not end within the bounds.

    `malformed` is the media type and the body of the answer to what is no HTTP.
    """

    malformed = ("text/plain; charset=utf-8", b"this is no HTTP, or its URL is too long")
    _in_head = True
    _head_bytes = 0
    _overdue: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._overdue is None:
            self._overdue = self.loop.call_later(_HEAD_S, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Answer what cannot be parsed, and close the connection."""
        media_type, body = self.malformed
        head = (
            f"HTTP/1.1 400 Bad Request\r\ncontent-type: {media_type}\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode("ascii") + body)
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Take bytes from the socket."""
        self._head_bytes += len(data)
        if self._in_head:
            self._expect_head()
        super().data_received(data)
        if self._in_head and self._head_bytes > _MAX_HEAD_BYTES:
            self.transport.abort()

    def on_headers_complete(self) -> None:
        """Go on with the body, which the application bounds."""
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Go on with the next head."""
        super().on_message_complete()
        self._in_head = True
        self._head_bytes = 0


class _Server(uvicorn.Server):
    """uvicorn that leaves the signals of the process alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def http_server(
    app: Starlette, *, drain_s: float, malformed: tuple[str, bytes] | None = None
) -> uvicorn.Server:
    """Return a server whose stop answers what is in flight, for at most `drain_s` seconds.

    `malformed` is the media type and the body of its answer to what is no HTTP.
    """

    class Protocol(_BoundedProtocol):
        pass

    if malformed is not None:
        Protocol.malformed = malformed
    return _Server(
        uvicorn.Config(
            app,
            http=Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=int(drain_s),
        )
    )
