"""Request → decode → journal → answer: what both transports call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from tracejury_collector import failpoints
from tracejury_collector.config import Limits
from tracejury_collector.entries import Entry
from tracejury_collector.errors import Unavailable
from tracejury_collector.receive import replies
from tracejury_collector.receive.accounts import Accounts
from tracejury_collector.receive.admission import Admission, Reservation
from tracejury_collector.receive.batches import Header
from tracejury_collector.receive.decoding import Decoder, ExportRequest, Prepared
from tracejury_collector.receive.handover import Handover
from tracejury_collector.receive.journal import Journal
from tracejury_collector.receive.otlp import Signal
from tracejury_collector.receive.store_client import StoreClient, StoreSignal
from tracejury_collector.redaction import NOTHING, Redactor

_STORE_SIGNALS: dict[Signal, StoreSignal] = {"traces": "spans", "logs": "logs"}


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
        self._draining = False
        self._requests = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._accounts = accounts
        self._admission = Admission(limit_bytes=limits.in_flight_bytes, wait_s=limits.wait)
        self._journal = journal
        self._handover = Handover(journal, store, self._admission)
        self._decoder = Decoder(limits, self._admission, redactor)

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
        prepared = await self._decoder.decode(request, reservation)
        if request.signal in _STORE_SIGNALS and (prepared.rows or prepared.rejected):
            await self._keep(_STORE_SIGNALS[request.signal], prepared, reservation.arrived_ns)
            failpoints.reach("receiver.acknowledging")
        return replies.success(
            request.signal, request.encoding, prepared.rejected, prepared.message
        )

    async def _keep(self, signal: StoreSignal, prepared: Prepared, arrived_ns: int) -> None:
        header = Header(
            signal=signal,
            rows=prepared.rows,
            rejected=prepared.rejected,
            reasons={**prepared.reasons},
            redacted={**prepared.redacted},
            arrived_ns=arrived_ns,
        )
        try:
            async with asyncio.timeout(self.limits.commit):
                await self._handover.keep(Entry({**header}, prepared.payload))
        except (Unavailable, TimeoutError) as error:
            self._accounts.shed_items(signal, prepared.rows + prepared.rejected)
            raise Unavailable(str(error) or "the disk did not answer in time") from error

    def close(self) -> None:
        """Stop the decoders, and leave what is in the journal to the next receiver."""
        self._journal.close()
        self._decoder.close()
