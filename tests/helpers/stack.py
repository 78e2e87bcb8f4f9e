"""Receiver, store and API in this process: real sockets, a real database, no start to wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.helpers.api import Api, running_api
from tests.helpers.receiver import free_port, listening_socket
from tests.helpers.service import settle
from tracejury_collector.config import Config, parse_config
from tracejury_collector.keys.model import new_key
from tracejury_collector.receive.process import ReceiverSettings, run
from tracejury_collector.store.lag import Lag
from tracejury_collector.store.server import ReceiverDesk, StoreServer
from tracejury_collector.store.unread import UnreadLog


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Where it listens, and the API over the same database."""

    http_url: str
    http_port: int
    grpc_address: str
    api: Api
    database: Path

    def sql(self, query: str, *params: Any) -> list[list[Any]]:
        """Return the rows of a query through the SQL door, of what was acknowledged before."""
        settle(self.database)
        body = {"sql": query, "params": list(params), "limit": 100_000}
        answer = self.api.http.post("/api/sql", json=body)
        assert answer.status_code == 200, answer.text
        rows: list[list[Any]] = answer.json()["rows"]
        return rows

    def finish(self) -> None:
        """Let the time pass that finishes every trace of what was acknowledged, and finish them."""
        settle(self.database)
        self.api.finish()


@contextmanager
def running_stack(folder: Path, **limits: Any) -> Iterator[Stack]:
    """Serve with the given limits until the block ends, on a new database in `folder`."""
    listener = listening_socket()
    http_port: int = listener.getsockname()[1]
    grpc_address = f"127.0.0.1:{free_port()}"
    config = parse_config({"limits": limits, "storage": str(folder / "tracejury.duckdb")})
    ready = threading.Event()
    with running_api(folder) as api:
        serving = _Serving(config, listener.detach(), grpc_address, folder / "store.sock", api)
        thread = threading.Thread(target=lambda: asyncio.run(serving.run(ready)), name="stack")
        thread.start()
        try:
            assert ready.wait(20), "the receiver did not start"
            yield Stack(
                http_url=f"http://127.0.0.1:{http_port}",
                http_port=http_port,
                grpc_address=grpc_address,
                api=api,
                database=Path(config.storage),
            )
        finally:
            serving.end()
            thread.join(20)
    assert not thread.is_alive(), "the receiver did not drain"


@dataclass
class _Serving:
    config: Config
    http_socket: int
    grpc_address: str
    store_socket: Path
    api: Api
    loop: asyncio.AbstractEventLoop | None = None
    stop: asyncio.Event | None = None

    async def run(self, ready: threading.Event) -> None:
        self.loop, self.stop = asyncio.get_running_loop(), asyncio.Event()
        unread = UnreadLog(self.api.context.db)
        desk = ReceiverDesk(self.api.appender, self.config.journal_folder(), Lag(), unread)
        server = StoreServer(str(self.store_socket), {"receiver": desk})
        await server.start()
        settings = ReceiverSettings(
            config=self.config,
            http_sockets=[self.http_socket],
            grpc_address=self.grpc_address,
            store_socket=str(self.store_socket),
            keys_required=False,
            own_key=new_key("tracejury", ["ingest"], datetime.now(UTC)).key,
            ready=ready.set,
        )
        try:
            await run(settings, self.stop)
        finally:
            await server.stop()

    def end(self) -> None:
        if self.loop and self.stop and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.stop.set)
