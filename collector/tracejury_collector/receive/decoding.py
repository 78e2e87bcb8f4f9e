"""Export requests are decoded in a thread of their own, small ones many at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from tracejury_collector import failpoints
from tracejury_collector.config import Limits
from tracejury_collector.errors import Unavailable
from tracejury_collector.receive.admission import Admission, Reservation
from tracejury_collector.receive.columns import Rows
from tracejury_collector.receive.decompress import decompress
from tracejury_collector.receive.otlp import Decoded, Encoding, Signal, decode, read, together
from tracejury_collector.receive.store_client import to_ipc
from tracejury_collector.redaction import NOTHING, Redactor

GROUP_BYTES = 256 << 10
"""Requests are decoded together until this much of them is decompressed."""


class ExportRequest(NamedTuple):
    """One export request as it came from the wire."""

    signal: Signal
    encoding: Encoding
    body: bytes
    compression: str = "identity"
    project: str | None = None
    """The project of its key; None: as its resources say."""


class Prepared(NamedTuple):
    """One request decoded: its rows (an Arrow IPC stream), and what is said of it."""

    payload: memoryview
    rows: int
    rejected: int
    message: str
    reasons: Mapping[str, int]
    redacted: Mapping[str, int]


class _Waiting(NamedTuple):
    request: ExportRequest
    reservation: Reservation
    answer: asyncio.Future[Prepared]


class Decoder:
    """Decodes in the order of arrival; what waits at the same moment shares thread and columns.

    It begins only while the rows that wait for their commit are within the budget: a small
    compressed body can become a large batch, and so no two large ones are decoded together.
    """

    def __init__(self, limits: Limits, admission: Admission, redactor: Redactor = NOTHING) -> None:
        self._limits = limits
        self._admission = admission
        self._redactor = redactor
        self._waiting: deque[_Waiting] = deque()
        self._working: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="decode")

    async def decode(self, request: ExportRequest, reservation: Reservation) -> Prepared:
        """Return the request decoded; what is held for it grows to what it came to.

        Raises: MalformedRequest, TooLarge; Unavailable where there is no room for long.
        """
        answer: asyncio.Future[Prepared] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(request, reservation, answer))
        if self._working is None:
            self._working = asyncio.create_task(self._work(), name="decoding")
        return await answer

    def close(self) -> None:
        """Stop; what waits is canceled."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._working:
            self._working.cancel()

    async def _work(self) -> None:
        group: list[_Waiting] = []
        try:
            while self._waiting:
                if not await self._has_room(self._waiting[0]):
                    continue
                group = self._take()
                requests = [waiting.request for waiting in group]
                loop = asyncio.get_running_loop()
                done = await loop.run_in_executor(self._thread, self._decode, requests)
                failpoints.reach("receiver.decoded")
                self._waiting.extendleft(reversed(group[len(done) :]))
                for waiting, outcome in zip(group, done, strict=False):
                    _answer(waiting, outcome)
        finally:
            self._working = None
            for waiting in (*group, *self._waiting):
                waiting.answer.cancel()  # which does nothing to those that have theirs
            self._waiting.clear()

    async def _has_room(self, first: _Waiting) -> bool:
        """Wait for room for what the first may become; it is refused where there is none."""
        try:
            await self._admission.enter(own=first.reservation.size, extra=0)
        except Unavailable as error:
            self._waiting.popleft()
            _answer(first, error)
            return False
        return True

    def _take(self) -> list[_Waiting]:
        """Return those that one group may hold, without those that nobody waits for any more."""
        group: list[_Waiting] = []
        size = 0
        while self._waiting and size < GROUP_BYTES:
            waiting = self._waiting.popleft()
            if not waiting.answer.done():
                group.append(waiting)
                size += len(waiting.request.body)
        return group

    def _decode(self, requests: Sequence[ExportRequest]) -> list[Prepared | Exception]:
        """Return what became of the first requests, of as many as one group may hold."""
        found: list[Rows[Any] | Decoded | Exception] = []
        size = 0
        for request in requests:
            try:
                body = decompress(
                    request.body, request.compression, self._limits.decompressed_bytes
                )
                size += len(body)
                found.append(self._read(request, body))
            except Exception as error:  # noqa: BLE001 - whoever waits for it is told
                found.append(error)
            if size >= GROUP_BYTES:
                break
        return _prepared(found)

    def _read(self, request: ExportRequest, body: bytes) -> Rows[Any] | Decoded:
        if request.signal == "metrics":
            return decode("metrics", request.encoding, body, self._limits)
        return read(
            *(request.signal, request.encoding, body, self._limits, self._redactor),
            project=request.project,
        )


def _answer(waiting: _Waiting, outcome: Prepared | Exception) -> None:
    if waiting.answer.done():
        return
    if isinstance(outcome, Exception):
        waiting.answer.set_exception(outcome)
        return
    waiting.reservation.force_to(len(waiting.request.body) + len(outcome.payload))
    waiting.answer.set_result(outcome)


def _prepared(found: Sequence[Rows[Any] | Decoded | Exception]) -> list[Prepared | Exception]:
    done: dict[int, Decoded | Exception] = {}
    groups: dict[type, list[int]] = {}
    for index, item in enumerate(found):
        if isinstance(item, Rows):
            groups.setdefault(type(item), []).append(index)
        else:
            done[index] = item
    for indexes in groups.values():
        rows = [item for index in indexes if isinstance(item := found[index], Rows)]
        done.update(zip(indexes, together(rows), strict=True))
    return [_packed(done[index]) for index in range(len(found))]


def _packed(outcome: Decoded | Exception) -> Prepared | Exception:
    if isinstance(outcome, Exception):
        return outcome
    rows = outcome.table.num_rows if outcome.table is not None else 0
    payload = memoryview(to_ipc(outcome.table) if outcome.table is not None and rows else b"")
    return Prepared(
        payload, rows, outcome.rejected, outcome.message, outcome.reasons, outcome.redacted
    )
