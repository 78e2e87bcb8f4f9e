"""A peer on a real Unix socket that answers the receiver's frames the way the store does."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from tracejury_collector.ipc import read_frame, write_frame

Answer = Callable[[dict[str, Any]], dict[str, Any] | None]
Ending = Literal["leaves", "dies"]


def answer_appended(header: dict[str, Any]) -> dict[str, Any]:
    """Answer as if everything were new and committed."""
    if header["op"] == "unread":
        return {"op": "noted", "id": header["id"]}
    if header["op"] == "account":
        return {"op": "accounted", "id": header["id"]}
    return {"op": "appended", "id": header["id"], "stored": header["rows"], "duplicate": 0}


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows; times, which Python's own type would cut, are in ns."""
    for index, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(index, field.name, table[field.name].cast(pa.int64()))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


class FakeStore:
    """Keeps what it is sent; `answer` may return None to leave a request without an answer.

    `ends_at` says of a request whether it ends the connection: with a word, as a store that stops,
    or without one, as a store that dies.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hold = asyncio.Event()
        self.hellos: list[dict[str, Any]] = []
        self.forget()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    def forget(self) -> None:
        """Be as after the start, with the connections there are."""
        self.answer: Answer = answer_appended
        self.ends_at: Callable[[dict[str, Any], bytes], Ending | None] = lambda header, payload: (
            None
        )
        self.hold.set()
        self.requests: list[dict[str, Any]] = []
        self.tables: dict[str, list[pa.Table]] = {"spans": [], "logs": []}
        self.accounts: dict[str, Counter[str]] = {}

    async def start(self) -> None:
        """Listen on the socket."""
        self.path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, str(self.path))

    async def stop(self) -> None:
        """Stop listening and drop every connection, as a killed store does."""
        assert self._server
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.sleep(0)

    def send_raw(self, data: bytes) -> None:
        """Send bytes that need not be a frame on every connection."""
        for writer in self._writers:
            writer.write(data)

    def rows(self, signal: str = "spans") -> list[dict[str, Any]]:
        """Return all rows received so far; times are in ns."""
        return [row for table in self.tables[signal] for row in rows_of(table)]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        answers: set[asyncio.Task[None]] = set()
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            hello, _ = await read_frame(reader)
            self.hellos.append(hello)
            while True:
                header, payload = await read_frame(reader)
                if ending := self.ends_at(header, payload):
                    if ending == "leaves":
                        write_frame(writer, {"op": "leaving"})
                    break
                self._keep(header, payload)
                answers.add(asyncio.create_task(self._reply(header, writer)))
        self._writers.discard(writer)
        writer.close()

    def _keep(self, header: dict[str, Any], payload: bytes) -> None:
        self.requests.append(header)
        if header["op"] == "append":
            self.tables[header["signal"]].append(pa.ipc.open_stream(payload).read_all())
        elif header["op"] == "account":
            counter = self.accounts.setdefault(header["signal"], Counter())
            counter.update({k: header[k] for k in ("rejected", "shed", "shed_requests")})

    async def _reply(self, header: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        await self.hold.wait()
        answer = self.answer(header)
        if answer is not None and not writer.is_closing():
            write_frame(writer, answer)


@asynccontextmanager
async def fake_store(folder: Path) -> AsyncIterator[FakeStore]:
    """Yield a store that listens on a socket in `folder`."""
    store = FakeStore(folder / "store.sock")
    await store.start()
    try:
        yield store
    finally:
        store.hold.set()
        await store.stop()
