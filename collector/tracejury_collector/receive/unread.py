"""What the dialects do not read, reported to the store, which keeps the totals."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import orjson

from tracejury.dialects import active
from tracejury.errors import TracejuryError
from tracejury_collector.errors import Unavailable
from tracejury_collector.receive.store_client import StoreClient

_log = logging.getLogger(__name__)

_EVERY_S = 2.0


async def report(store: StoreClient) -> None:
    """Send what was counted since the last report; what the store does not take is lost.

    Raises: Unavailable, TracejuryError
    """
    counted = active().take_unread()
    if counted:
        await store.note_unread(orjson.dumps(counted))


async def keep_reporting(store: StoreClient, end: asyncio.Event) -> None:
    """Report every few seconds, and a last time after `end` is set."""
    ending = False
    while not ending:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(end.wait(), _EVERY_S)
        ending = end.is_set()
        try:
            await report(store)
        except Unavailable:
            continue
        except TracejuryError:
            _log.exception("the store does not take the report on what no dialect reads")
