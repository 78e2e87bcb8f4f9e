"""Freed memory goes back to the system, also where the C library would keep it."""

from __future__ import annotations

import subprocess
import sys

_HELD_BY_ITS_END = """
import asyncio, ctypes
from tracejury_collector import heap

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]

def spend():
    blocks = [libc.malloc(4000) for _ in range(25_000)]
    for block in blocks:
        ctypes.memset(block, 1, 4000)
    for block in blocks[:-1]:  # the last one lies at the end of the heap, and keeps it
        libc.free(ctypes.c_void_p(block))

async def main():
    giving_back = asyncio.create_task(heap.keep_giving_back())
    await asyncio.sleep(0)
    spend()
    kept = heap.own_bytes()
    while kept - heap.own_bytes() < 80_000_000:
        await asyncio.sleep(0.01)
    giving_back.cancel()

heap.EVERY_S = 0.05
asyncio.run(asyncio.wait_for(main(), 60))
"""

_LARGE = """
import ctypes
from tracejury_collector import heap

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]

def spent(size):
    block = libc.malloc(size)
    ctypes.memset(block, 1, size)
    return ctypes.c_void_p(block)

libc.free(spent(16 << 20))  # from now on the C library would take such pieces from its heap
heap.give_back_large()
before = heap.own_bytes()
large = []
for _ in range(20):
    large.append(spent(4 << 20))
    spent(4000)  # lies behind it, and stays
assert heap.own_bytes() - before > 80_000_000
for block in large:
    libc.free(block)
assert heap.own_bytes() - before < 8_000_000, heap.own_bytes() - before
"""


def test_large_pieces_go_back_at_once() -> None:
    subprocess.run([sys.executable, "-c", _LARGE], check=True, timeout=120)


def test_what_a_burst_leaves_behind_goes_back() -> None:
    subprocess.run([sys.executable, "-c", _HELD_BY_ITS_END], check=True, timeout=120)
