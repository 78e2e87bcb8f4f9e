"""What was refused before it became a batch, reported to the store, which keeps the totals."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter

from tracejury.errors import TracejuryError
from tracejury_collector.errors import Unavailable
from tracejury_collector.receive.otlp import Signal
from tracejury_collector.receive.store_client import StoreClient, StoreSignal

_log = logging.getLogger(__name__)

_EVERY_S = 1.0
_COUNTED_AS: dict[Signal, StoreSignal] = {"traces": "spans", "logs": "logs"}


class Accounts:
    """Counts what was refused since the last report."""

    def __init__(self, store: StoreClient) -> None:
        self._store = store
        self._shed: Counter[StoreSignal] = Counter()
        self._shed_requests: Counter[StoreSignal] = Counter()

    def shed(self, signal: Signal) -> None:
        """Count a request that was asked to come again; metrics, of which none is kept, are not."""
        if signal in _COUNTED_AS:
            self._shed_requests[_COUNTED_AS[signal]] += 1

    def shed_items(self, signal: StoreSignal, count: int) -> None:
        """Count the items of a request that was decoded and then asked to come again."""
        self._shed[signal] += count

    async def report(self) -> None:
        """Send what was counted; what the store does not take is kept for the next time.

        Raises: Unavailable
        """
        for signal in _COUNTED_AS.values():
            shed = self._shed.pop(signal, 0)
            requests = self._shed_requests.pop(signal, 0)
            if not shed and not requests:
                continue
            try:
                await self._store.account(signal, shed=shed, shed_requests=requests)
            except Unavailable:
                self._shed[signal] += shed
                self._shed_requests[signal] += requests
                raise

    async def keep_reporting(self, end: asyncio.Event) -> None:
        """Report about once a second, and a last time after `end` is set."""
        ending = False
        while not ending:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(end.wait(), _EVERY_S)
            ending = end.is_set()
            try:
                await self.report()
            except Unavailable:
                continue
            except TracejuryError:
                _log.exception("the store does not take the counts of what was shed")
