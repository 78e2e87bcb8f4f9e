"""Freed memory that the C library keeps for later goes back to the system."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import resource

EVERY_S = 1.0
GROWN_BYTES = 16 << 20
"""By so much a process has grown since the last time before it is worth the milliseconds."""

LARGE_BYTES = 1 << 20
"""Pieces of this size and more go back as soon as they are free."""
_M_MMAP_THRESHOLD = -3


def give_back_large() -> None:
    """Have large pieces of memory go back at once when they are free, in this process.

    The C library takes pieces of up to 32 MB from its heaps once such a one was freed; small ones
    that lie behind it then keep what was free before them.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)


def give_back() -> None:
    """Return freed memory, as far as the C library does not do so by itself.

    Each thread frees into a heap of its own, and only the end of a heap goes back unasked.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


async def keep_giving_back() -> None:
    """Return freed memory, large pieces at once and the rest within a second, until cancelled."""
    give_back_large()
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
