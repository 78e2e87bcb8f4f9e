"""Export requests are decoded in a thread of their own, small ones many at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pyarrow as pa

from tracejury.errors import TracejuryError
from tracejury_collector import failpoints
from tracejury_collector.config import Limits
from tracejury_collector.errors import Unavailable
from tracejury_collector.receive.admission import Admission, Reservation
from tracejury_collector.receive.columns import Rows
from tracejury_collector.receive.decompress import decompress
from tracejury_collector.receive.otlp import Decoded, Encoding, Signal, decode, read, together
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
        try:
            return await answer
        finally:
            del answer  # a fault would hold what holds the fault

    def close(self) -> None:
        """Stop; what waits is canceled."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._working:
            self._working.cancel()

    async def _work(self) -> None:
        try:
            while self._waiting:
                if self._waiting[0].answer.done():  # nobody waits for it any more
                    self._waiting.popleft()
                elif await self._has_room(self._waiting[0]):
                    await self._decode_group()
        finally:
            self._working = None
            _cancel(self._waiting)
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

    async def _decode_group(self) -> None:
        group = self._take()
        requests = [waiting.request for waiting in group]
        loop = asyncio.get_running_loop()
        done: list[Prepared | Exception] = []
        try:
            done = await loop.run_in_executor(self._thread, self._decode, requests)
        finally:
            if not done:  # the service stops
                _cancel(group)
        failpoints.reach("receiver.decoded")
        self._waiting.extendleft(reversed(group[len(done) :]))
        for waiting, outcome in zip(group, done, strict=False):
            _answer(waiting, outcome)

    def _take(self) -> list[_Waiting]:
        """Return those that one group may hold, without those that nobody waits for any more."""
        group: list[_Waiting] = []
        size = 0
        while self._waiting:
            waiting = self._waiting[0]
            size += len(waiting.request.body)
            if group and size > GROUP_BYTES:
                break
            self._waiting.popleft()
            if not waiting.answer.done():
                group.append(waiting)
        return group

    def _decode(self, requests: Sequence[ExportRequest]) -> list[Prepared | Exception]:
        """Return what became of the first requests, of as many as one group may hold.

        A fault ends a group: nobody waits for the next one, which may unfold as far.
        """
        found: list[Rows[Any] | Decoded | Exception] = []
        size = 0
        for request in requests:
            item, weight = self._read(request)
            found.append(item)
            size += weight
            if size >= GROUP_BYTES or isinstance(item, Exception):
                break
        return _prepared(found)

    def _read(self, request: ExportRequest) -> tuple[Rows[Any] | Decoded | Exception, int]:
        """Return the request as rows, or its fault; and how many bytes it unfolds to."""
        limits = self._limits
        try:
            body = decompress(request.body, request.compression, limits.decompressed_bytes)
            if request.signal == "metrics":
                return decode("metrics", request.encoding, body, limits), len(body)
            rows = read(
                *(request.signal, request.encoding, body, limits, self._redactor),
                project=request.project,
            )
        except TracejuryError as error:
            error.__context__ = None  # no frames: they hold what was unfolded
            return error.with_traceback(None), 0
        except Exception as error:  # noqa: BLE001 - whoever waits for it is told
            return error, 0
        return rows, len(body) + rows.shared_bytes


def _cancel(waiting: Iterable[_Waiting]) -> None:
    for each in waiting:
        each.answer.cancel()


def _answer(waiting: _Waiting, outcome: Prepared | Exception) -> None:
    if waiting.answer.done():
        return
    if isinstance(outcome, Exception):
        waiting.answer.set_exception(outcome)
        return
    waiting.reservation.force_to(len(waiting.request.body) + len(outcome.payload))
    waiting.answer.set_result(outcome)


def _prepared(found: Sequence[Rows[Any] | Decoded | Exception]) -> list[Prepared | Exception]:
    """Return the requests with their columns; those of one signal and project are made together.

    Where a column ends, some bytes of the next request come along.
    """
    done: dict[int, Prepared | Exception] = {}
    groups: dict[tuple[type, str | None], dict[int, Rows[Any]]] = {}
    for index, item in enumerate(found):
        if isinstance(item, Rows):
            groups.setdefault((type(item), item.project), {})[index] = item
        else:
            done[index] = item if isinstance(item, Exception) else _packed(item)
    for group in groups.values():
        done.update(zip(group, _finished([*group.values()]), strict=True))
    return [done[index] for index in range(len(found))]


def _finished(group: Sequence[Rows[Any]]) -> list[Prepared | Exception]:
    try:
        return [_packed(decoded) for decoded in together(group)]
    except Exception as error:  # noqa: BLE001 - whoever waits for it is told
        if len(group) == 1:
            return [error]
    return [outcome for rows in group for outcome in _finished([rows])]


def _packed(decoded: Decoded) -> Prepared:
    rows = decoded.table.num_rows if decoded.table is not None else 0
    payload = memoryview(to_ipc(decoded.table) if decoded.table is not None and rows else b"")
    return Prepared(
        payload, rows, decoded.rejected, decoded.message, decoded.reasons, decoded.redacted
    )


def to_ipc(table: pa.Table) -> pa.Buffer:
    """Return the table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
