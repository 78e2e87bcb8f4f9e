"""The assembler process: takes batches of arrivals from the store, hands back rows.

It holds no database, no key and nothing that its successor would need.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
from collections.abc import Mapping
from typing import Any

import orjson
import pyarrow as pa

from tracejury_collector import failpoints
from tracejury_collector.assembling.assembly import answer
from tracejury_collector.heap import give_back
from tracejury_collector.ipc import BrokenFrame, read_frame, write_frame

log = logging.getLogger(__name__)

MEMORY_BYTES = 4 << 30
"""Address space beyond that of the start.

The most that the store reads at a time takes 2 GiB until it is handed back."""
NICENESS = 2
"""Requests and questions go first: a finished trace can wait."""
_BUFFER_BYTES = 4 << 20
_RECONNECT_S = (0.05, 0.5)


async def run(socket_path: str, stop: asyncio.Event) -> None:
    """Assemble until `stop` is set."""
    os.nice(NICENESS)
    _limit_address_space(_address_space_bytes() + MEMORY_BYTES)
    working = asyncio.create_task(_stay_connected(socket_path), name="assembling")
    await stop.wait()
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working


async def _stay_connected(socket_path: str) -> None:
    delay_s, longest_s = _RECONNECT_S
    while True:
        with contextlib.suppress(OSError, EOFError, BrokenFrame, orjson.JSONDecodeError):
            reader, writer = await asyncio.open_unix_connection(socket_path, limit=_BUFFER_BYTES)
            delay_s, _ = _RECONNECT_S
            try:
                await _serve(reader, writer)
            finally:
                writer.close()
        await asyncio.sleep(delay_s)
        delay_s = min(2 * delay_s, longest_s)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        header, payload = await read_frame(reader)
        reply, content = _reply(header, payload)
        failpoints.reach("assembler.assembled")
        del payload
        write_frame(writer, reply, memoryview(content))
        await writer.drain()
        del content
        give_back()


def _reply(header: Mapping[str, Any], payload: bytes) -> tuple[dict[str, Any], pa.Buffer]:
    """Return the rows, or why there are none."""
    try:
        return {"op": "assembled"}, answer(header, payload)
    except Exception as error:
        log.exception("a batch cannot be assembled")
        reason = f"{type(error).__name__}: {error}"[:1000]
        return {"op": "failed", "reason": reason}, pa.py_buffer(b"")


def _address_space_bytes() -> int:
    """Return what this process uses of it: what it was forked from may have reserved some."""
    with contextlib.suppress(OSError), open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()
    return 0


def _limit_address_space(size_bytes: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = size_bytes if hard == resource.RLIM_INFINITY else min(size_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
