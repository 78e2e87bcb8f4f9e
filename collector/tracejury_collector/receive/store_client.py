"""The receiver's end of the socket to the store: batches go in, answers come after the commit.

A batch is kept until it is answered. When the store goes away the client connects again and sends
everything that is still unanswered; the store knows spans it already has. A store that goes without
saying so has died, perhaps of what it had in hand.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from tracejury.errors import TracejuryError
from tracejury_collector import failpoints
from tracejury_collector.errors import StoreDied, Unavailable
from tracejury_collector.ipc import read_frame, write_frame
from tracejury_collector.keys.ring import Reason
from tracejury_collector.store.intake import Places

StoreSignal = Literal["spans", "logs"]

_FIRST_DELAY_S = 0.05
_LONGEST_DELAY_S = 0.5
_UNREAD_DEATHS = 2
_NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What became of a batch: how many rows are new, and how many were known."""

    stored: int
    duplicate: int


@dataclass(slots=True, kw_only=True)
class _Pending:
    header: dict[str, Any]
    payload: bytes
    answer: asyncio.Future[dict[str, Any]]
    bears: int | None
    """At so many deaths of the store it is given back; None: at none."""
    deaths: int = 0


class StoreClient:
    """One connection to the store on which many requests wait at the same time."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._ids = itertools.count(1)
        self._pending: dict[int, _Pending] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._loop_task: asyncio.Task[None] | None = None
        self._closed = False
        self._connections = itertools.count(1)
        self.connection = 0
        """The number of the present connection; 0: there is none."""

    def life(self) -> int:
        """Return what tells the present life of the store from others; 0 where it has none."""
        try:
            return os.stat(self._path).st_mtime_ns  # each store makes the socket anew
        except OSError:
            return 0

    async def start(self) -> None:
        """Begin to connect; requests may be made at once and wait for the connection."""
        self._loop_task = asyncio.create_task(self._stay_connected(), name="store client")

    async def close(self) -> None:
        """Close the connection; whoever waits, now or later, gets Unavailable."""
        self._closed = True
        if self._loop_task:
            self._loop_task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._loop_task
        for pending in self._pending.values():
            if not pending.answer.done():
                pending.answer.set_exception(_closing())

    async def append(
        self,
        signal: StoreSignal,
        batch: Sequence[Places],
        *,
        rows: int,
        rejected: int,
        arrived_ns: int,
        redacted: Mapping[str, int] = _NOTHING,
        reasons: Mapping[str, int] = _NOTHING,
        deaths: int | None = None,
    ) -> Appended:
        """Return what became of the rows that lie in these places of the journal once committed.

        `redacted` says what was taken out of them, by name; `reasons`, why others were rejected.
        It waits for as long as the store is away.

        Raises: Unavailable when the client is closed, or the store cannot take it now; StoreDied
        once the store has died `deaths` times with it in hand.
        """
        header = {
            "op": "append",
            "signal": signal,
            "rejected": rejected,
            "places": batch,
            "rows": rows,
            "arrived_ns": arrived_ns,
            "redacted": redacted,
            "reasons": reasons,
        }
        answer = await self._request(header, deaths=deaths)
        return Appended(stored=answer["stored"], duplicate=answer["duplicate"])

    async def account(
        self,
        signal: StoreSignal,
        *,
        rejected: int = 0,
        reasons: Mapping[str, int] = _NOTHING,
        shed: int = 0,
        shed_requests: int = 0,
    ) -> None:
        """Report what never became a batch; returns once the store has counted it.

        It waits for as long as the store is away: to give up and report again counts twice.

        Raises: Unavailable when the client is closed, or the store cannot take it now.
        """
        header = {
            "op": "account",
            "signal": signal,
            "rejected": rejected,
            "reasons": reasons,
            "shed": shed,
            "shed_requests": shed_requests,
        }
        await self._request(header)

    async def note_unread(self, payload: bytes) -> None:
        """Report what no dialect reads (JSON, see the store's end); returns once it is counted.

        Raises: Unavailable when the client is closed, or the store cannot take it now; StoreDied
        when the store has died of it, for all that we know.
        """
        await self._request({"op": "unread"}, payload, deaths=_UNREAD_DEATHS)

    async def note_refused(self, counts: Mapping[Reason, int]) -> None:
        """Report requests that were refused because of who made them, by why.

        Raises: Unavailable when the client is closed, or the store cannot take it now.
        """
        await self._request({"op": "refused", "counts": counts})

    async def _request(
        self, header: dict[str, Any], payload: bytes = b"", *, deaths: int | None = None
    ) -> dict[str, Any]:
        if self._closed:
            raise _closing()
        number = next(self._ids)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        pending = _Pending(
            header={**header, "id": number}, payload=payload, answer=answer, bears=deaths
        )
        self._pending[number] = pending
        try:
            self._send(pending)
            reply = await answer
        finally:
            self._pending.pop(number)
        if reply["op"] != "failed":
            return reply
        if reply["retry"]:
            raise Unavailable(f"the store cannot take this now: {reply['error']}")
        raise TracejuryError(f"the store refused a batch: {reply['error']}")

    def _send(self, pending: _Pending) -> None:
        if self._writer:
            write_frame(self._writer, pending.header, pending.payload)
            failpoints.reach("receiver.handed-over")

    async def _stay_connected(self) -> None:
        delay_s = _FIRST_DELAY_S
        while True:
            try:
                reader, writer = await asyncio.open_unix_connection(self._path)
            except OSError:
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, _LONGEST_DELAY_S)
                continue
            delay_s = _FIRST_DELAY_S
            try:
                await self._converse(reader, writer)
            except (OSError, EOFError, orjson.JSONDecodeError):
                self._count_death()
            finally:
                self._writer = None
                self.connection = 0
                writer.close()
            await asyncio.sleep(delay_s)

    def _count_death(self) -> None:
        """Take note that the store has died with everything unanswered in hand."""
        for pending in self._pending.values():
            pending.deaths += 1
            if pending.deaths == pending.bears and not pending.answer.done():
                why = f"deaths of the store with it in hand: {pending.deaths}"
                pending.answer.set_exception(StoreDied(why))

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send what waits, and hear the answers, until the store says that it leaves.

        Raises: OSError, EOFError where it is gone without a word, JSONDecodeError on nonsense.
        """
        write_frame(writer, {"op": "hello", "role": "receiver", "pid": os.getpid()})
        for pending in self._pending.values():
            write_frame(writer, pending.header, pending.payload)
        self._writer = writer
        self.connection = next(self._connections)
        while True:
            header, _ = await read_frame(reader)
            if header.get("op") == "leaving":
                return
            pending_or_none = self._pending.get(header.get("id", 0))
            if pending_or_none and not pending_or_none.answer.done():
                pending_or_none.answer.set_result(header)


def _closing() -> Unavailable:
    return Unavailable("the service is shutting down; try again soon")
