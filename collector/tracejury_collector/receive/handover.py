"""From the journal to the store: what is on the disk already, many requests in one batch."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tracejury.errors import TracejuryError
from tracejury_collector import failpoints
from tracejury_collector.errors import Unavailable
from tracejury_collector.files import aside_name
from tracejury_collector.receive.admission import Admission
from tracejury_collector.receive.journal import Entry, Journal, Left, Segment, pack
from tracejury_collector.receive.store_client import StoreClient, StoreSignal, to_ipc
from tracejury_collector.store.schema import SCHEMAS

_log = logging.getLogger(__name__)

BATCH_ROWS = 16_384
BATCH_BYTES = 16 << 20
FULL_ROWS = 2_048
REST = 2.0
"""After a batch the next one below `FULL_ROWS` waits for this many times as long as that took: a
commit costs the same for few rows."""
LONGEST_REST_S = 0.2

_RETRY_S = 0.25
_LONGEST_RETRY_S = 2.0  # a store whose disk is full opens its file anew after each attempt
_SIGNALS: tuple[StoreSignal, ...] = ("spans", "logs")
_REFUSED = "the store cannot hold it"


@dataclass(frozen=True, eq=False)
class _Kept:
    entry: Entry
    segment: Segment

    @property
    def rows(self) -> int:
        rows: int = self.entry.header["rows"]
        return rows


class _Lane:
    """What waits of one signal, in the order of the journal."""

    def __init__(self) -> None:
        self.waiting: deque[_Kept] = deque()
        self.rows = 0
        self.carried = 0
        self.news = asyncio.Event()

    def put(self, kept: _Kept) -> None:
        self.waiting.append(kept)
        self.rows += kept.rows
        self.news.set()

    def take(self) -> list[_Kept]:
        """Return what one batch takes of what waits; it is carried until said otherwise."""
        taken: list[_Kept] = []
        rows = size = 0
        while self.waiting:
            rows += self.waiting[0].rows
            size += len(self.waiting[0].entry.payload)
            if taken and (rows > BATCH_ROWS or size > BATCH_BYTES):
                break
            taken.append(self.waiting.popleft())
        self.rows -= sum(kept.rows for kept in taken)
        self.carried = len(taken)
        if not self.waiting:
            self.news.clear()
        return taken


class Handover:
    """Keeps requests in the journal, and carries them to the store until they are committed there.

    The bytes that wait count as in flight, so that senders wait when the store falls behind.
    """

    def __init__(self, journal: Journal, store: StoreClient, admission: Admission) -> None:
        self._journal = journal
        self._store = store
        self._admission = admission
        self._lanes = {signal: _Lane() for signal in _SIGNALS}
        self._emptied = asyncio.Event()
        self._emptied.set()

    async def keep(self, entry: Entry) -> None:
        """Write the entry to the journal; it goes to the store from there.

        Raises: Unavailable where the disk does not take it.
        """
        written = self._journal.append(pack(entry))
        written.add_done_callback(lambda done: self._take_on(entry, done))
        await asyncio.shield(written)  # whoever stops waiting does not take it back

    def take_over(self, left: Left) -> None:
        """Carry on with what a receiver left when it died."""
        _log.warning(
            "%d requests of %s were acknowledged before and go to the store now",
            *(len(left.entries), left.segment.path.name),
        )
        for entry in left.entries:
            try:
                self._put(_Kept(_brought_up(entry), left.segment))
            except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
                self._set_aside(entry, error)
                self._journal.forget(left.segment)

    async def run(self) -> None:
        """Carry what comes until cancelled."""
        async with asyncio.TaskGroup() as group:
            for signal, lane in self._lanes.items():
                group.create_task(self._serve(signal, lane), name=f"handover of {signal}")

    async def drain(self) -> None:
        """Return once nothing waits for the store."""
        await self._emptied.wait()

    def _take_on(self, entry: Entry, written: asyncio.Future[Segment]) -> None:
        if not written.cancelled() and not written.exception():
            self._put(_Kept(entry, written.result()))

    def _put(self, kept: _Kept) -> None:
        self._admission.hold(len(kept.entry.payload))
        self._lanes[kept.entry.header["signal"]].put(kept)
        self._emptied.clear()

    async def _serve(self, signal: StoreSignal, lane: _Lane) -> None:
        due_s = 0.0
        while True:
            await lane.news.wait()
            if lane.rows < FULL_ROWS:
                await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            began_s = time.monotonic()
            await self._carry(signal, lane.take())
            ended_s = time.monotonic()
            due_s = ended_s + min(REST * (ended_s - began_s), LONGEST_REST_S)
            lane.carried = 0
            if not any(each.waiting or each.carried for each in self._lanes.values()):
                self._emptied.set()

    async def _carry(self, signal: StoreSignal, batch: Sequence[_Kept]) -> None:
        """Have the batch committed, however long that takes."""
        try:
            await self._persist(signal, [kept.entry for kept in batch])
        except TracejuryError as error:
            await self._refused(signal, batch, error)
            return
        for kept in batch:
            self._let_go(kept)

    async def _persist(self, signal: StoreSignal, entries: Sequence[Entry]) -> None:
        """Send until the store has taken them or says that it never will; say once that it waits.

        Raises: TracejuryError
        """
        delay_s = _RETRY_S
        while True:
            try:
                await self._send(signal, entries)
                return
            except Unavailable as error:
                if delay_s == _RETRY_S:
                    _log.warning("%d requests wait for the store: %s", len(entries), error)
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, _LONGEST_RETRY_S)

    async def _send(self, signal: StoreSignal, entries: Sequence[Entry]) -> None:
        headers = [entry.header for entry in entries]
        with_rows = [entry.payload for entry in entries if entry.header["rows"]]
        rejected = sum(header["rejected"] for header in headers)
        reasons = _sum(header["reasons"] for header in headers)
        if not with_rows:
            await self._store.account(signal, rejected=rejected, reasons=reasons)
            return
        payload = await asyncio.to_thread(_joined, with_rows)
        await self._store.append(
            signal,
            payload,
            rows=sum(header["rows"] for header in headers),
            rejected=rejected,
            arrived_ns=min(header["arrived_ns"] for header in headers),
            redacted=_sum(header["redacted"] for header in headers),
            reasons=reasons,
        )

    async def _refused(
        self, signal: StoreSignal, batch: Sequence[_Kept], error: TracejuryError
    ) -> None:
        """Find out which request the store can never hold, and set that aside."""
        if len(batch) > 1:
            for kept in batch:
                await self._carry(signal, [kept])
            return
        (kept,) = batch
        self._set_aside(kept.entry, error)
        with contextlib.suppress(TracejuryError):
            rejected = kept.rows + kept.entry.header["rejected"]
            reasons = {**kept.entry.header["reasons"], _REFUSED: kept.rows}
            await self._store.account(signal, rejected=rejected, reasons=reasons)
        self._let_go(kept)

    def _set_aside(self, entry: Entry, error: Exception) -> None:
        target = aside_name(self._journal.folder)
        target.write_bytes(pack(entry))
        _log.critical("a request that was acknowledged was set aside as %s: %s", target, error)

    def _let_go(self, kept: _Kept) -> None:
        failpoints.reach("receiver.forgetting")
        self._journal.forget(kept.segment)
        self._admission.give_back(len(kept.entry.payload))


def _sum(counts: Any) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _joined(payloads: Sequence[bytes | memoryview]) -> bytes | memoryview:
    """Return one Arrow IPC stream with the rows of all."""
    if len(payloads) == 1:
        return payloads[0]
    tables = [pa.ipc.open_stream(pa.py_buffer(payload)).read_all() for payload in payloads]
    return memoryview(to_ipc(pa.concat_tables(tables)))


def _brought_up(entry: Entry) -> Entry:
    """Return an entry with the columns of today: another version may have written it."""
    schema = SCHEMAS[entry.header["signal"]]
    if not entry.header["rows"]:
        return entry
    table = pa.ipc.open_stream(pa.py_buffer(entry.payload)).read_all()
    if table.schema.equals(schema):
        return entry
    columns = [
        table[field.name]
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return Entry(entry.header, memoryview(to_ipc(pa.table(columns, names=schema.names))))
