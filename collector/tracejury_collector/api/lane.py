"""A lane for requests that take long: a few at a time, the others wait for a bounded time."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tracejury_collector.errors import Unavailable

T = TypeVar("T")
_NICENESS = 10
"""Its threads give way to those that store spans and answer the other routes."""


class Lane:
    """Threads of their own for functions of one kind; `name` is what the kind is called."""

    def __init__(self, name: str, *, at_once: int, wait_s: float) -> None:
        self._name = name
        self._at_once = at_once
        self._wait_s = wait_s
        self._free = asyncio.Semaphore(at_once)
        self._threads = ThreadPoolExecutor(at_once, f"lane-{name}", initializer=_give_way)

    async def run(self, function: Callable[[], T], within_s: float) -> T:
        """Return what the function returns, once it was its turn.

        Raises: Unavailable when too many others go on for too long; TimeoutError when it has not
        returned `within_s`.
        """
        try:
            async with asyncio.timeout(self._wait_s):
                await self._free.acquire()
        except TimeoutError as error:
            raise Unavailable(
                f"{self._at_once} {self._name} are running, and none ended in "
                f"{self._wait_s:g} s; send it again, or raise sql.at_once"
            ) from error
        running = asyncio.get_running_loop().run_in_executor(self._threads, function)
        running.add_done_callback(self._ended)
        # A caller that leaves frees no thread: the function goes on.
        async with asyncio.timeout(within_s):
            return await asyncio.shield(running)

    def _ended(self, running: asyncio.Future[T]) -> None:
        self._free.release()
        if not running.cancelled():
            running.exception()  # whose caller has left, nobody else looks at


def _give_way() -> None:
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
