"""The receiver in this process, on real sockets and in a loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.helpers.fake_store import FakeStore, fake_store
from tests.helpers.otlp import encoded, make_span, request_of
from tracejury_collector.config import Config, Limits, parse_config
from tracejury_collector.entries import Entry
from tracejury_collector.files import folder_bytes
from tracejury_collector.keys.model import new_key
from tracejury_collector.receive.decoding import to_ipc
from tracejury_collector.receive.otlp import decode
from tracejury_collector.receive.process import ReceiverSettings, run


def listening_socket() -> socket.socket:
    """Return a TCP socket that listens on a free port of the loopback."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    return listener


def left_entry(number: int, **changes: Any) -> Entry:
    """Return one span as it lies in a journal, its header with changes."""
    body = encoded(request_of(make_span(number)), "protobuf")
    table = decode("traces", "protobuf", body, Limits()).table
    assert table
    header = {"signal": "spans", "rows": 1, "rejected": 0, "reasons": {}, "redacted": {}}
    return Entry({**header, "arrived_ns": 1, **changes}, bytes(to_ipc(table)))


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class RunningReceiver:
    """A receiver that serves, and the store that it talks to."""

    http_url: str
    http_port: int
    grpc_address: str
    store: FakeStore
    journal: Path
    loop: asyncio.AbstractEventLoop
    stop: asyncio.Event
    thread: threading.Thread

    def call(self, function: Any, *args: Any) -> Any:
        """Run a function, or a coroutine function, inside the receiver's loop."""

        async def inside() -> Any:
            result = function(*args)
            return await result if asyncio.iscoroutine(result) else result

        return asyncio.run_coroutine_threadsafe(inside(), self.loop).result(30)

    def wait_for(self, condition: Callable[[], Any]) -> None:
        """Wait until the condition holds."""
        deadline = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < deadline, "it did not happen"
            time.sleep(0.01)

    def rows(self, signal: str = "spans") -> list[dict[str, Any]]:
        """Return the rows that the store has, once it has all that was acknowledged."""
        self.settle()
        return self.store.rows(signal)

    def settle(self) -> None:
        """Wait until the store has all that was acknowledged."""
        self.wait_for(lambda: not folder_bytes(self.journal))

    def drain(self) -> None:
        """Tell the receiver to stop, without waiting for it."""
        self.loop.call_soon_threadsafe(self.stop.set)


@contextmanager
def running_receiver(folder: Path, **limits: Any) -> Iterator[RunningReceiver]:
    """Run a receiver with the given limits until the block ends."""
    config = parse_config({"limits": limits, "storage": str(folder / "tracejury.duckdb")})
    listener = listening_socket()
    grpc_address = f"127.0.0.1:{free_port()}"
    started: threading.Event = threading.Event()
    found: dict[str, Any] = {}

    def serve() -> None:
        asyncio.run(_serve(config, listener.detach(), grpc_address, folder, found, started))

    port: int = listener.getsockname()[1]
    thread = threading.Thread(target=serve, name="receiver")
    thread.start()
    try:
        assert started.wait(20), "the receiver did not start"
        receiver = RunningReceiver(
            http_url=f"http://127.0.0.1:{port}",
            http_port=port,
            grpc_address=grpc_address,
            thread=thread,
            journal=config.journal_folder(),
            **found,
        )
        receiver.wait_for(lambda: receiver.store.hellos)
        yield receiver
    finally:
        with contextlib.suppress(RuntimeError, KeyError):  # it has ended already
            found["loop"].call_soon_threadsafe(found["stop"].set)
        thread.join(20)
    assert not thread.is_alive(), "the receiver did not drain"


async def _serve(
    config: Config,
    http_socket: int,
    grpc_address: str,
    folder: Path,
    found: dict[str, Any],
    started: threading.Event,
) -> None:
    async with fake_store(folder, config.journal_folder()) as store:
        found |= {"store": store, "loop": asyncio.get_running_loop(), "stop": asyncio.Event()}
        settings = ReceiverSettings(
            config=config,
            http_sockets=[http_socket],
            grpc_address=grpc_address,
            store_socket=str(store.path),
            keys_required=False,
            own_key=new_key("tracejury", ["ingest"], datetime.now(UTC)).key,
            ready=started.set,
        )
        await run(settings, found["stop"])
