"""Receivers hand in batches over the socket; a peer's nonsense costs only its connection."""

from __future__ import annotations

import asyncio
import errno
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.helpers.databases import fetch, open_database
from tests.helpers.store import span_row, span_table
from tracejury_collector.entries import Entry, pack
from tracejury_collector.ipc import read_frame, write_frame
from tracejury_collector.store.append import Appender
from tracejury_collector.store.database import Database
from tracejury_collector.store.lag import Lag
from tracejury_collector.store.server import Handler, ReceiverDesk, StoreServer
from tracejury_collector.store.unread import UnreadLog, list_unread

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def _payload(*ids: int) -> bytes:
    table = span_table(span_row(span_id=f"{i:016x}") for i in ids)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _append(tmp_path: Path, number: int, payload: bytes, rows: int, **more: Any) -> dict[str, Any]:
    """Keep the payload in a journal, and return the request to append what is there."""
    journal = tmp_path / "journal"
    journal.mkdir(exist_ok=True)
    data = pack(Entry({}, payload))
    segment = journal / f"{number}.segment"
    segment.write_bytes(data)
    place = {"file": segment.name, "inode": segment.stat().st_ino, "ranges": [(0, len(data))]}
    return {
        "op": "append",
        "id": number,
        "signal": "spans",
        "places": [place],
        "rejected": 0,
        "rows": rows,
        "arrived_ns": 1,
        **more,
    }


async def _jury(hello: Mapping[str, Any], _: asyncio.StreamReader, w: asyncio.StreamWriter) -> None:
    write_frame(w, {"pid": hello["pid"]})
    await w.drain()


@asynccontextmanager
async def _served(tmp_path: Path) -> AsyncIterator[tuple[Database, StoreServer, Path]]:
    with open_database(tmp_path / "db") as db:
        path = tmp_path / "s"
        path.write_text("left by a dead process")
        handlers: dict[str, Handler] = {
            "receiver": ReceiverDesk(Appender(db), tmp_path / "journal", Lag(), UnreadLog(db)),
            "jury": _jury,
        }
        server = StoreServer(str(path), handlers)
        await server.start()
        try:
            yield db, server, path
        finally:
            await server.stop()


async def _connect(path: Path, role: str = "receiver") -> Streams:
    reader, writer = await asyncio.open_unix_connection(str(path))
    write_frame(writer, {"op": "hello", "role": role, "pid": 7})
    return reader, writer


async def _replies(reader: asyncio.StreamReader, count: int) -> dict[int, dict[str, Any]]:
    frames = [await read_frame(reader) for _ in range(count)]
    return {header["id"]: header for header, _ in frames}


async def _closed(reader: asyncio.StreamReader) -> bool:
    async with asyncio.timeout(10):
        return await reader.read() == b""


def test_batches_and_counts_are_answered_by_their_ids(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _served(tmp_path) as (db, _, path):
            reader, writer = await _connect(path)
            write_frame(writer, _append(tmp_path, 1, _payload(1, 2), 2, rejected=3))
            write_frame(writer, _append(tmp_path, 2, _payload(2, 3), 2))
            write_frame(writer, {"op": "account", "id": 3, "signal": "logs", "shed": 5})
            replies = await _replies(reader, 3)
            assert replies[1] == {"op": "appended", "id": 1, "stored": 2, "duplicate": 0}
            assert replies[2] == {"op": "appended", "id": 2, "stored": 1, "duplicate": 1}
            assert replies[3] == {"op": "accounted", "id": 3}
            assert fetch(db, "SELECT count(*) FROM base.spans") == [(3,)]
            assert db.counters()["received", "spans"] == 7
            assert db.counters()["shed", "logs"] == 5
            writer.close()

    asyncio.run(scenario())


def test_a_batch_that_can_never_be_stored_is_failed_for_good(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _served(tmp_path) as (db, _, path):
            reader, writer = await _connect(path)
            write_frame(writer, _append(tmp_path, 1, _payload(1, 2), 3))
            write_frame(writer, _append(tmp_path, 2, b"no arrow stream", 2))
            write_frame(writer, _append(tmp_path, 3, _payload(1, 2), 2, signal="logs"))
            write_frame(writer, _append(tmp_path, 4, _payload(1), 1))
            replies = await _replies(reader, 4)
            for number in (1, 2, 3):
                assert (replies[number]["op"], replies[number]["retry"]) == ("failed", False)
            assert replies[4]["stored"] == 1
            assert fetch(db, "SELECT count(*) FROM base.spans") == [(1,)]
            writer.close()

    asyncio.run(scenario())


def test_a_batch_that_cannot_be_stored_now_may_be_sent_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _served(tmp_path) as (db, _, path):
            reader, writer = await _connect(path)
            await asyncio.to_thread(db.close)
            write_frame(writer, _append(tmp_path, 1, _payload(1), 1))
            replies = await _replies(reader, 1)
            assert (replies[1]["op"], replies[1]["retry"]) == ("failed", True)
            writer.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("fault", "retry"),
    [
        (MemoryError("none left"), True),
        (pa.lib.ArrowMemoryError("none left"), True),
        (OSError(errno.EMFILE, "too many"), True),
        (KeyError("nobody foresaw this"), False),
    ],
)
def test_whatever_happens_to_a_batch_it_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception, retry: bool
) -> None:
    def fail(*_: object) -> None:
        raise fault

    async def scenario() -> None:
        async with _served(tmp_path) as (_, _server, path):
            reader, writer = await _connect(path)
            with monkeypatch.context() as patch:
                patch.setattr("tracejury_collector.store.server.read_batch", fail)
                write_frame(writer, _append(tmp_path, 1, _payload(1), 1))
                reply = (await _replies(reader, 1))[1]
            assert (reply["op"], reply["retry"]) == ("failed", retry)
            write_frame(writer, _append(tmp_path, 2, _payload(1), 1))
            assert (await _replies(reader, 1))[2]["stored"] == 1
            writer.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "raw",
    [
        struct.pack(">IQ", 1 << 31, 0),
        struct.pack(">IQ", 2, 1 << 62) + b"{}",
        struct.pack(">IQ", 3, 0) + b"no!",
        struct.pack(">IQ", 2, 0) + b"[]",
        struct.pack(">IQ", 2, 0) + b"{}",
        struct.pack(">IQ", 13, 0) + b'{"op":"nope"}',
        struct.pack(">IQ", 29, 0) + b'{"op":"append","id":"x y z"} ',
    ],
    ids=["long header", "long payload", "no json", "list", "empty", "unknown", "wrong types"],
)
def test_nonsense_closes_its_connection_only(tmp_path: Path, raw: bytes) -> None:
    async def scenario() -> None:
        async with _served(tmp_path) as (_, _server, path):
            good_reader, good_writer = await _connect(path)
            for role in ("receiver", None):
                reader, writer = (
                    await _connect(path, role)
                    if role
                    else await asyncio.open_unix_connection(str(path))
                )
                writer.write(raw)
                assert await _closed(reader)
                writer.close()
            write_frame(good_writer, _append(tmp_path, 1, _payload(1), 1))
            assert (await _replies(good_reader, 1))[1]["stored"] == 1
            good_writer.close()

    asyncio.run(scenario())


def test_a_jury_process_is_handed_to_its_handler(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _served(tmp_path) as (_, _server, path):
            reader, writer = await _connect(path, "jury")
            assert await read_frame(reader) == ({"pid": 7}, b"")
            assert await _closed(reader)
            writer.close()

    asyncio.run(scenario())


def test_stopping_answers_what_was_taken_and_accepts_no_more(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _served(tmp_path) as (db, server, path):
            reader, writer = await _connect(path)
            for number in range(1, 21):
                write_frame(writer, _append(tmp_path, number, _payload(number), 1))
            await writer.drain()
            first, _ = await read_frame(reader)
            await server.stop()
            said = []
            while True:
                try:
                    header, _ = await read_frame(reader)
                except asyncio.IncompleteReadError:
                    break
                said.append(header)
            assert said.pop() == {"op": "leaving"}
            stored = 1 + len(said)
            assert {answer["stored"] for answer in [first, *said]} == {1}
            assert fetch(db, "SELECT count(*) FROM base.spans") == [(stored,)]
            with pytest.raises(OSError, match=r"No such file|refused"):
                await asyncio.open_unix_connection(str(path))
            writer.close()

    asyncio.run(scenario())


def test_what_is_unread_is_noted_and_nonsense_about_it_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _served(tmp_path) as (db, _, path):
            reader, writer = await _connect(path)
            write_frame(writer, {"op": "unread", "id": 1}, b'[["nova","nova.prompt",2,"x"]]')
            write_frame(writer, {"op": "unread", "id": 2}, b'[["nova",7]]')
            replies = await _replies(reader, 2)
            assert replies[1] == {"op": "noted", "id": 1}
            assert (replies[2]["op"], replies[2]["retry"]) == ("failed", False)
            assert [(row.key, row.spans) for row in list_unread(db)] == [("nova.prompt", 2)]
            writer.close()

    asyncio.run(scenario())
