"""Requests that were refused because of who made them, reported to the store, which tells them."""

from __future__ import annotations

import asyncio
import contextlib

from tracejury.errors import TracejuryError
from tracejury_collector.keys.ring import Refusals
from tracejury_collector.receive.store_client import StoreClient

_EVERY_S = 2.0


async def keep_reporting(refusals: Refusals, store: StoreClient, end: asyncio.Event) -> None:
    """Report every few seconds until `end` is set; what the store does not take is told later."""
    while not end.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(end.wait(), _EVERY_S)
        counts = refusals.take()
        if not counts:
            continue
        try:
            await store.note_refused(counts)
        except TracejuryError:
            refusals.counts.update(counts)
