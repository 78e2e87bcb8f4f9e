"""What was refused before it became a batch, reported to the store, which keeps the totals."""

from __future__ import annotations

import asyncio
from collections import Counter

from tracejury_collector.errors import Unavailable
from tracejury_collector.receive.otlp import Signal
from tracejury_collector.receive.store_client import StoreClient

_EVERY_S = 1.0
_COUNTED_AS: dict[Signal, str] = {"traces": "spans", "logs": "logs", "metrics": "metrics"}


class Accounts:
    """Counts what was refused since the last report."""

    def __init__(self, store: StoreClient) -> None:
        self._store = store
        self._rejected: Counter[str] = Counter()
        self._shed: Counter[str] = Counter()
        self._shed_requests: Counter[str] = Counter()

    def rejected(self, signal: str, count: int) -> None:
        """Count items that can never be taken."""
        self._rejected[signal] += count

    def shed(self, signal: Signal) -> None:
        """Count a request that was asked to come again."""
        self._shed_requests[_COUNTED_AS[signal]] += 1

    def shed_items(self, signal: str, count: int) -> None:
        """Count the items of a request that was decoded and then asked to come again."""
        self._shed[signal] += count

    async def report(self) -> None:
        """Send what was counted; what the store does not take is kept for the next time.

        Raises: Unavailable
        """
        for signal in sorted({*self._rejected, *self._shed, *self._shed_requests}):
            counts = [
                counter.pop(signal, 0)
                for counter in (self._rejected, self._shed, self._shed_requests)
            ]
            if not any(counts):
                continue
            rejected, shed, requests = counts
            try:
                await self._store.account(
                    signal, rejected=rejected, shed=shed, shed_requests=requests
                )
            except Unavailable:
                self._rejected[signal] += rejected
                self._shed[signal] += shed
                self._shed_requests[signal] += requests
                raise

    async def keep_reporting(self) -> None:
        """Report about once a second until cancelled."""
        while True:
            await asyncio.sleep(_EVERY_S)
            try:
                await self.report()
            except Unavailable:
                continue
