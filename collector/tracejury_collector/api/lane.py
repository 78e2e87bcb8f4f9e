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
BRISK_S = 0.25
"""For as long a function runs like all other routes: most are answered by then."""
_NICENESS = 10
"""What takes longer gives way from then on to the threads that store spans and answer others."""


class _Turn:
    """One function in a thread of its own; a thread that has given way never gets back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None

    def run(self, function: Callable[[], T]) -> T:
        with self._lock:
            self._thread = threading.get_native_id()
        try:
            return function()
        finally:
            with self._lock:
                self._thread = None

    def give_way(self) -> None:
        with self._lock:  # the number of a thread that has ended may be another's
            if self._thread is not None:
                niceness = max(_NICENESS, os.getpriority(os.PRIO_PROCESS, self._thread))
                os.setpriority(os.PRIO_PROCESS, self._thread, niceness)


class Lane:
    """Threads of their own for functions of one kind; `name` is what the kind is called."""

    def __init__(self, name: str, *, at_once: int, wait_s: float) -> None:
        self._name = name
        self._at_once = at_once
        self._wait_s = wait_s
        self._free = asyncio.Semaphore(at_once)

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
        running = self._start(function)
        # A caller that leaves frees no thread: the function goes on.
        async with asyncio.timeout(within_s):
            return await asyncio.shield(running)

    def _start(self, function: Callable[[], T]) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        turn = _Turn()
        thread = ThreadPoolExecutor(1, f"lane-{self._name}")
        running = loop.run_in_executor(thread, turn.run, function)
        thread.shutdown(wait=False)
        running.add_done_callback(self._ended)
        slow = loop.call_later(BRISK_S, turn.give_way)
        running.add_done_callback(lambda _: slow.cancel())
        return running

    def _ended(self, running: asyncio.Future[T]) -> None:
        self._free.release()
        if not running.cancelled():
            running.exception()  # whose caller has left, nobody else looks at
