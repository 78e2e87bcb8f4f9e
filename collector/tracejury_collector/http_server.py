"""uvicorn as every process of the service runs it: on an inherited socket, without its signals."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import uvicorn
from starlette.applications import Starlette

_KEEP_ALIVE_S = 75  # above the schedules of stock exporters, which reuse their connection


class _Server(uvicorn.Server):
    """uvicorn that leaves the signals of the process alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def http_server(app: Starlette, *, drain_s: float) -> uvicorn.Server:
    """Return a server whose stop answers what is in flight, for at most `drain_s` seconds."""
    return _Server(
        uvicorn.Config(
            app,
            http="httptools",
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
