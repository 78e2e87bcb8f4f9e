"""Freed memory that the C library keeps for later goes back to the system."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import resource

EVERY_S = 1.0
GROWN_BYTES = 16 << 20
"""By so much a process has grown since the last time before it is worth the milliseconds."""


def give_back() -> None:
    """Return freed memory, as far as the C library does not do so by itself.

    Each thread frees into a heap of its own, and only the end of a heap goes back unasked.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


async def keep_giving_back() -> None:
    """Return freed memory whenever this process has grown, until cancelled."""
    known = own_bytes()
    while True:
        await asyncio.sleep(EVERY_S)
        if own_bytes() - known > GROWN_BYTES:
            await asyncio.to_thread(give_back)
            known = own_bytes()
        known = min(known, own_bytes())


def own_bytes() -> int:
    """Return what this process holds in memory, without files; 0 where the system does not say."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/statm") as statm:
        _, resident, of_files, *_ = map(int, statm.read().split())
        return (resident - of_files) * resource.getpagesize()
    return 0
