"""The store's socket: receivers tell of batches, jury processes take their work."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import duckdb
import orjson
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tracejury.errors import TracejuryError
from tracejury_collector import failpoints
from tracejury_collector.errors import MalformedRequest, RequestError
from tracejury_collector.ipc import read_frame, write_frame
from tracejury_collector.keys.ring import Reason
from tracejury_collector.store.append import Appender, Signal
from tracejury_collector.store.intake import Places, read_batch
from tracejury_collector.store.lag import Lag
from tracejury_collector.store.unread import Counted, UnreadLog

Hello = Mapping[str, Any]
Handler = Callable[[Hello, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_log = logging.getLogger(__name__)

_HELLO_S = 10.0
_BUFFER_BYTES = 1 << 20
_FINAL = (RequestError, pa.ArrowException, duckdb.DataError, duckdb.IntegrityError)


class _Append(BaseModel):
    model_config = ConfigDict(frozen=True)

    op: Literal["append"]
    id: int
    signal: Signal
    places: list[Places]
    rejected: int = Field(ge=0)
    rows: int = Field(ge=0)
    arrived_ns: int = Field(ge=0)
    redacted: dict[str, int] = {}
    reasons: dict[str, int] = {}


class _Account(BaseModel):
    model_config = ConfigDict(frozen=True)

    op: Literal["account"]
    id: int
    signal: Signal
    rejected: int = Field(default=0, ge=0)
    reasons: dict[str, int] = {}
    shed: int = Field(default=0, ge=0)
    shed_requests: int = Field(default=0, ge=0)


class _Unread(BaseModel):
    """What a receiver counted that no dialect reads; its payload is JSON, rows of `Counted`."""

    model_config = ConfigDict(frozen=True)

    op: Literal["unread"]
    id: int


class _Refused(BaseModel):
    """Requests that a receiver refused because of who made them."""

    model_config = ConfigDict(frozen=True)

    op: Literal["refused"]
    id: int
    counts: dict[Reason, Annotated[int, Field(ge=0)]]


_Request = _Append | _Account | _Unread | _Refused
_REQUEST: TypeAdapter[_Request] = TypeAdapter(Annotated[_Request, Field(discriminator="op")])
_COUNTED: TypeAdapter[list[Counted]] = TypeAdapter(list[Counted])


class _Malformed(Exception):
    """The peer does not keep to the protocol; its connection is closed."""


class StoreServer:
    """An asyncio server of `ipc` frames on a Unix socket; the first frame says the peer's role."""

    def __init__(self, path: str, handlers: Mapping[str, Handler]) -> None:
        self._path = path
        self._handlers = handlers
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen on the path; a socket that a dead process left there is replaced."""
        with contextlib.suppress(FileNotFoundError):
            Path(self._path).unlink()
        self._server = await asyncio.start_unix_server(
            self._accept, self._path, limit=_BUFFER_BYTES
        )
        Path(self._path).chmod(0o600)

    async def stop(self) -> None:
        """Accept and read nothing more; return when the handlers have answered what they took."""
        if self._server is None:
            return
        self._server.close()
        with contextlib.suppress(FileNotFoundError):
            Path(self._path).unlink()
        for connection in self._connections:
            connection.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._serve(reader, writer)
        except asyncio.CancelledError:
            pass
        except (_Malformed, orjson.JSONDecodeError, TimeoutError) as error:
            _log.error("closing a connection that does not keep to the protocol: %s", error)
        except (OSError, EOFError) as error:
            _log.debug("a peer left: %s", error)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HELLO_S):
            hello, _ = await read_frame(reader)
        role = str(hello.get("role")) if isinstance(hello, dict) else ""
        if role not in self._handlers:
            raise _Malformed(f"unknown role {role!r}; known: {', '.join(self._handlers)}")
        await self._handlers[role](hello, reader, writer)


class ReceiverDesk:
    """Serves the connections of role `receiver`; replies come in the order of the commits."""

    def __init__(self, appender: Appender, journal: Path, lag: Lag, unread: UnreadLog) -> None:
        self._appender = appender
        self._journal = journal
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="reading")
        self._lag = lag
        self._unread = unread
        self.refused: Counter[Reason] = Counter()

    async def __call__(
        self, _hello: Hello, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Take requests until the peer leaves or the server stops; then answer what was taken.

        A server that stops says that it leaves: to its peer, one that does not has died.
        """
        replies: set[asyncio.Task[None]] = set()
        try:
            while True:
                header, payload = await read_frame(reader)
                try:
                    request = _REQUEST.validate_python(header)
                except ValidationError as error:
                    raise _Malformed(f"not a request: {error}") from error
                task = asyncio.create_task(self._answer(request, payload, writer))
                replies.add(task)
                task.add_done_callback(replies.discard)
        except asyncio.CancelledError:
            await _all(replies)
            write_frame(writer, {"op": "leaving"})
            raise
        finally:
            await _all(replies)

    async def _answer(
        self, request: _Request, payload: bytes, writer: asyncio.StreamWriter
    ) -> None:
        try:
            reply = await self._carry_out(request, payload)
        except (TracejuryError, pa.ArrowException, duckdb.Error, OSError, MemoryError) as error:
            retry = isinstance(error, MemoryError) or not isinstance(error, _FINAL)
            reply = {"op": "failed", "error": str(error), "retry": retry}
            _log.warning("%s failed: %s", request.op, error)
        except Exception as error:  # noqa: BLE001 - else whoever waits for it waits for ever
            reply = {"op": "failed", "error": repr(error), "retry": False}
            _log.exception("%s failed", request.op)
        with contextlib.suppress(OSError):
            failpoints.reach("store.answering", lambda: writer.write(b"\0"))
            write_frame(writer, {**reply, "id": request.id})
            await writer.drain()

    async def _carry_out(self, request: _Request, payload: bytes) -> dict[str, Any]:
        """Return the reply once what is asked for is on disk."""
        if isinstance(request, _Account):
            await asyncio.wrap_future(
                self._appender.account(
                    request.signal,
                    rejected=request.rejected,
                    reasons=request.reasons,
                    shed=request.shed,
                    shed_requests=request.shed_requests,
                )
            )
            return {"op": "accounted"}
        if isinstance(request, _Refused):
            self.refused.update(request.counts)
            return {"op": "noted"}
        if isinstance(request, _Unread):
            await asyncio.wrap_future(self._unread.add(_counted(payload)))
            return {"op": "noted"}
        read = partial(read_batch, self._journal, request.signal, request.places, request.rows)
        table = await asyncio.wrap_future(self._reading.submit(read))
        done = await asyncio.wrap_future(
            self._appender.append(
                request.signal, table, request.rejected, request.redacted, request.reasons
            )
        )
        self._lag.note(request.arrived_ns, time.time_ns())
        return {"op": "appended", "stored": done.stored, "duplicate": done.duplicate}


async def _all(replies: set[asyncio.Task[None]]) -> None:
    if replies:
        await asyncio.wait(replies)


def _counted(payload: bytes) -> list[Counted]:
    try:
        return _COUNTED.validate_json(payload)
    except ValidationError as error:
        raise MalformedRequest(f"not a report on what is unread: {error}") from error
