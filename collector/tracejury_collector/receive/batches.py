"""What is kept in the journal as the store is given it: one request, or many in one batch."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tracejury_collector.receive.segments import Entry, Segment
from tracejury_collector.receive.store_client import StoreClient, StoreSignal, to_ipc
from tracejury_collector.store.schema import SCHEMAS


@dataclass(frozen=True, eq=False)
class Kept:
    """A request that was acknowledged, and where it lies."""

    entry: Entry
    segment: Segment

    @property
    def signal(self) -> StoreSignal:
        """What it holds."""
        signal: StoreSignal = self.entry.header["signal"]
        return signal

    @property
    def rows(self) -> int:
        """How many of them."""
        rows: int = self.entry.header["rows"]
        return rows


async def send(store: StoreClient, batch: Sequence[Kept], *, deaths: int) -> None:
    """Have requests of one signal committed.

    Raises: Unavailable where the store cannot take them now; StoreDied once it has died this many
    times with them in hand; TracejuryError where it never will take them.
    """
    signal = batch[0].signal
    headers = [kept.entry.header for kept in batch]
    with_rows = [kept.entry.payload for kept in batch if kept.rows]
    rejected = sum(header["rejected"] for header in headers)
    reasons = _sum(header["reasons"] for header in headers)
    if not with_rows:
        await store.account(signal, rejected=rejected, reasons=reasons)
        return
    await store.append(
        signal,
        with_rows[0] if len(with_rows) == 1 else await asyncio.to_thread(_joined, with_rows),
        rows=sum(header["rows"] for header in headers),
        rejected=rejected,
        arrived_ns=min(header["arrived_ns"] for header in headers),
        redacted=_sum(header["redacted"] for header in headers),
        reasons=reasons,
        deaths=deaths,
    )


def brought_up(entry: Entry) -> Entry:
    """Return an entry with the columns of today: another version may have written it.

    Raises: KeyError, TypeError, ValueError, pa.ArrowException where it cannot be read.
    """
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


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _joined(payloads: Sequence[bytes | memoryview]) -> memoryview:
    """Return one Arrow IPC stream with the rows of all."""
    tables = [pa.ipc.open_stream(pa.py_buffer(payload)).read_all() for payload in payloads]
    return memoryview(to_ipc(pa.concat_tables(tables).combine_chunks()))
