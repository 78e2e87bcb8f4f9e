"""Request → decode → journal → answer: what both transports call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from tracejury_collector import failpoints
from tracejury_collector.config import Limits
from tracejury_collector.errors import Unavailable
from tracejury_collector.receive import replies
from tracejury_collector.receive.accounts import Accounts
from tracejury_collector.receive.admission import Admission, Reservation
from tracejury_collector.receive.decompress import decompress
from tracejury_collector.receive.handover import Handover
from tracejury_collector.receive.journal import Journal
from tracejury_collector.receive.otlp import Encoding, Signal, decode
from tracejury_collector.receive.segments import Entry
from tracejury_collector.receive.store_client import StoreClient, StoreSignal, to_ipc
from tracejury_collector.redaction import NOTHING, Redactor

_DECODERS = 1
_STORE_SIGNALS: dict[Signal, StoreSignal] = {"traces": "spans", "logs": "logs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """One export request as it came from the wire."""

    signal: Signal
    encoding: Encoding
    body: bytes
    compression: str = "identity"
    project: str | None = None
    """The project of its key; None: as its resources say."""


class _Prepared(NamedTuple):
    payload: memoryview
    rows: int
    rejected: int
    message: str
    reasons: Mapping[str, int]
    redacted: Mapping[str, int]


class Ingest:
    """Takes export requests until it is told to drain."""

    def __init__(
        self,
        store: StoreClient,
        accounts: Accounts,
        limits: Limits,
        journal: Journal,
        redactor: Redactor = NOTHING,
    ) -> None:
        self.limits = limits
        self._redactor = redactor
        self._draining = False
        self._requests = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._accounts = accounts
        self._admission = Admission(limit_bytes=limits.in_flight_bytes, wait_s=limits.wait)
        self._journal = journal
        self._handover = Handover(journal, store, self._admission)
        self._decoding = asyncio.Semaphore(_DECODERS)
        self._threads = ThreadPoolExecutor(_DECODERS, thread_name_prefix="decode")

    @asynccontextmanager
    async def admit(self, signal: Signal, size: int) -> AsyncIterator[Reservation]:
        """Hold `size` bytes of a request inside the block.

        Raises: Unavailable when there is no room for them, or the service is shutting down.
        """
        try:
            if self._draining:
                raise Unavailable("the service is shutting down; try again soon")
            with self._active():
                async with self._admission.admit(size) as reservation:
                    yield reservation
        except Unavailable:
            self._accounts.shed(signal)
            raise

    @contextmanager
    def _active(self) -> Iterator[None]:
        self._requests += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._requests -= 1
            if not self._requests:
                self._idle.set()

    async def hand_over(self) -> None:
        """Bring what was acknowledged to the store, until cancelled.

        What receivers left that have died is acknowledged, too.
        """
        for left in self._journal.left():
            self._handover.take_over(left)
        await self._handover.run()

    async def drain(self) -> None:
        """Refuse new requests from now on; return once none is in flight or waits for the store."""
        self._draining = True
        await self._idle.wait()
        await self._handover.drain()

    async def export(self, request: ExportRequest, reservation: Reservation) -> bytes:
        """Return the reply once what the request holds is on disk.

        Raises: MalformedRequest, TooLarge, Unavailable
        """
        prepared = await self._prepare(request, reservation)
        if request.signal in _STORE_SIGNALS and (prepared.rows or prepared.rejected):
            await self._keep(_STORE_SIGNALS[request.signal], prepared, reservation.arrived_ns)
            failpoints.reach("receiver.acknowledging")
        return replies.success(
            request.signal, request.encoding, prepared.rejected, prepared.message
        )

    async def _prepare(self, request: ExportRequest, reservation: Reservation) -> _Prepared:
        """Return the decoded request.

        Few requests are decoded at a time, and only while the rows that wait for their commit
        are within the budget: a small compressed body can become a large batch.
        """
        async with self._decoding:
            await self._admission.enter(own=reservation.size, extra=0)
            loop = asyncio.get_running_loop()
            prepared = await loop.run_in_executor(self._threads, self._decode, request)
            failpoints.reach("receiver.decoded")
            reservation.force_to(len(request.body) + len(prepared.payload))
            return prepared

    def _decode(self, request: ExportRequest) -> _Prepared:
        limits = self.limits
        body = decompress(request.body, request.compression, limits.decompressed_bytes)
        decoded = decode(
            request.signal,
            request.encoding,
            body,
            limits,
            self._redactor,
            project=request.project,
        )
        rows = decoded.table.num_rows if decoded.table is not None else 0
        payload = memoryview(to_ipc(decoded.table) if decoded.table is not None and rows else b"")
        return _Prepared(
            payload, rows, decoded.rejected, decoded.message, decoded.reasons, decoded.redacted
        )

    async def _keep(self, signal: StoreSignal, prepared: _Prepared, arrived_ns: int) -> None:
        header = {
            "signal": signal,
            "rows": prepared.rows,
            "rejected": prepared.rejected,
            "reasons": prepared.reasons,
            "redacted": prepared.redacted,
            "arrived_ns": arrived_ns,
        }
        try:
            async with asyncio.timeout(self.limits.commit):
                await self._handover.keep(Entry(header, prepared.payload))
        except (Unavailable, TimeoutError) as error:
            self._accounts.shed_items(signal, prepared.rows + prepared.rejected)
            raise Unavailable(str(error) or "the disk did not answer in time") from error

    def close(self) -> None:
        """Stop the decoders, and leave what is in the journal to the next receiver."""
        self._journal.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
