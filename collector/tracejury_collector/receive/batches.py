"""What is kept in the journal as the store is told of it: one request, or many in one batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Annotated

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict  # pydantic asks for it before Python 3.12

from tracejury_collector.receive.segments import Kept
from tracejury_collector.receive.store_client import StoreClient, StoreSignal
from tracejury_collector.store.intake import Places

Count = Annotated[int, Field(ge=0, strict=True)]


class Header(TypedDict):
    """What is said of a request in its entry."""

    signal: StoreSignal
    rows: Count
    rejected: Count
    reasons: dict[str, Count]
    redacted: dict[str, Count]
    arrived_ns: Count


HEADER = TypeAdapter(Header)


async def send(store: StoreClient, batch: Sequence[Kept], *, deaths: int) -> None:
    """Have requests of one signal committed.

    Raises: Unavailable where the store cannot take them now; StoreDied once it has died this many
    times with them in hand; TracejuryError where it never will take them.
    """
    signal = signal_of(batch[0])
    headers = [kept.header for kept in batch]
    with_rows = [kept for kept in batch if kept.rows]
    rejected = sum(header["rejected"] for header in headers)
    reasons = _sum(header["reasons"] for header in headers)
    if not with_rows:
        await store.account(signal, rejected=rejected, reasons=reasons)
        return
    await store.append(
        signal,
        places_of(with_rows),
        rows=sum(header["rows"] for header in headers),
        rejected=rejected,
        arrived_ns=min(header["arrived_ns"] for header in headers),
        redacted=_sum(header["redacted"] for header in headers),
        reasons=reasons,
        deaths=deaths,
    )


def signal_of(kept: Kept) -> StoreSignal:
    """Return what a request holds."""
    signal: StoreSignal = kept.header["signal"]
    return signal


def places_of(batch: Iterable[Kept]) -> list[Places]:
    """Return where the requests lie, in their order; neighbors on the disk are one range."""
    found: list[Places] = []
    for segment, members in groupby(batch, key=lambda kept: kept.segment):
        ranges: list[tuple[int, int]] = []
        for kept in members:
            if ranges and ranges[-1][1] == kept.start:
                ranges[-1] = (ranges[-1][0], kept.end)
            else:
                ranges.append((kept.start, kept.end))
        found.append(Places(segment.path.name, segment.inode, ranges))
    return found


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)
