"""An HTTP endpoint on the loopback that answers as the query of each request asks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

CHUNK = b"x" * 1_000


@dataclass
class Endpoint:
    """A running endpoint and what it was sent.

    In a query, `status` and `body` are what it answers, comma-separated statuses one after the
    other; `header` adds a header `name:value`; `wait` are seconds before it answers; `drip` are
    bytes that it sends slowly for ever instead of a body; `times` answers with the body repeated.
    """

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """Give a running endpoint."""
    state = Endpoint()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(state: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            state.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            asked = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
            state.closing.wait(float(asked.get("wait", 0)))
            statuses = asked.get("status", "200").split(",")
            status = int(statuses[min(len(state.bodies), len(statuses)) - 1])
            with suppress(OSError):
                self._answer(status, asked)

        def _answer(self, status: int, asked: dict[str, str]) -> None:
            body = asked.get("body", "").encode() * int(asked.get("times", 1))
            self.send_response(status)
            name, _, value = asked.get("header", "x-none:").partition(":")
            self.send_header(name, value)
            if "drip" not in asked:
                self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            while "drip" in asked and not state.closing.is_set():
                self.wfile.write(CHUNK)
                time.sleep(0.01)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Handler
