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

from tracejury.errors import TracejuryError
from tracejury_collector.ipc import read_frame, write_frame
from tracejury_collector.store.intake import Places, read_batch

Answer = Callable[[dict[str, Any]], dict[str, Any] | None]
Ending = Literal["leaves", "dies"]
Rows = list[dict[str, Any]]


def answer_appended(header: dict[str, Any]) -> dict[str, Any]:
    """Answer as if everything were new and committed."""
    if header["op"] == "unread":
        return {"op": "noted", "id": header["id"]}
    if header["op"] == "account":
        return {"op": "accounted", "id": header["id"]}
    return {"op": "appended", "id": header["id"], "stored": header["rows"], "duplicate": 0}


def failed(header: dict[str, Any], error: str, *, retry: bool) -> dict[str, Any]:
    """Return the answer to a request that failed."""
    return {"op": "failed", "id": header["id"], "error": error, "retry": retry}


def rows_of(table: pa.Table) -> Rows:
    """Return the rows; times, which Python's own type would cut, are in ns."""
    for index, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(index, field.name, table[field.name].cast(pa.int64()))
    rows: Rows = table.to_pylist()
    return rows


class FakeStore:
    """Keeps what it is told of; `answer` may return None to leave a request without an answer.

    `ends_at` says of a request, and the rows of its batch, whether it ends the connection: with a
    word, as a store that stops, or without one, as a store that dies.
    """

    def __init__(self, path: Path, journal: Path) -> None:
        self.path = path
        self.journal = journal
        self.hold = asyncio.Event()
        self.hellos: list[dict[str, Any]] = []
        self.forget()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    def forget(self) -> None:
        """Be as after the start, with the connections there are."""
        self.answer: Answer = answer_appended
        self.ends_at: Callable[[dict[str, Any], Rows], Ending | None] = lambda header, rows: None
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

    def rows(self, signal: str = "spans") -> Rows:
        """Return all rows received so far; times are in ns."""
        return [row for table in self.tables[signal] for row in rows_of(table)]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        answers: set[asyncio.Task[None]] = set()
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            hello, _ = await read_frame(reader)
            self.hellos.append(hello)
            while True:
                header, _ = await read_frame(reader)
                try:
                    table = self._read(header)
                except (TracejuryError, pa.ArrowException) as error:
                    write_frame(writer, failed(header, str(error), retry=False))
                    continue
                if header.get("signal", "spans") not in self.tables:
                    break  # it does not keep to the protocol
                if ending := self.ends_at(header, rows_of(table) if table else []):
                    if ending == "leaves":
                        write_frame(writer, {"op": "leaving"})
                    break
                self._keep(header, table)
                answers.add(asyncio.create_task(self._reply(header, writer)))
        self._writers.discard(writer)
        writer.close()

    def _read(self, header: dict[str, Any]) -> pa.Table | None:
        if header["op"] != "append":
            return None
        batch = [Places(**places) for places in header["places"]]
        return read_batch(self.journal, header["signal"], batch, header["rows"])

    def _keep(self, header: dict[str, Any], table: pa.Table | None) -> None:
        self.requests.append(header)
        if table:
            self.tables[header["signal"]].append(table)
        elif header["op"] == "account":
            counter = self.accounts.setdefault(header["signal"], Counter())
            counter.update({k: header[k] for k in ("rejected", "shed", "shed_requests")})

    async def _reply(self, header: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        await self.hold.wait()
        answer = self.answer(header)
        if answer is not None and not writer.is_closing():
            write_frame(writer, answer)


@asynccontextmanager
async def fake_store(folder: Path, journal: Path) -> AsyncIterator[FakeStore]:
    """Yield a store that listens on a socket in `folder`."""
    store = FakeStore(folder / "store.sock", journal)
    await store.start()
    try:
        yield store
    finally:
        store.hold.set()
        await store.stop()
