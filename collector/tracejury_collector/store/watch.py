"""Watching what users' SQL takes: it is interrupted at its limits, and where that does not help,
the process is ended, as the last wall."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

_log = logging.getLogger(__name__)

STUCK_S = 2.0
"""How long a query may go on after its interrupt before the process is ended."""
MEMORY = 512 << 20
_STEP_S = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STATM = Path("/proc/self/statm")


class Watch:
    """A query that is watched while it runs; `fault` says why it was interrupted, if it was."""

    def __init__(
        self, cursor: duckdb.DuckDBPyConnection, limit_s: float, memory_bytes: int
    ) -> None:
        self.fault = ""
        self._cursor = cursor
        self._limit_s = limit_s
        self._memory_bytes = memory_bytes
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._started_s = time.monotonic()
        self._before_bytes = resident_bytes()
        self._thread.start()

    def stop(self) -> None:
        """The query has ended."""
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self.fault:
            left_s = self._started_s + self._limit_s - time.monotonic()
            if self._done.wait(max(0.0, min(_STEP_S, left_s))):
                return
            self.fault = self._over()
        stuck_s = time.monotonic() + STUCK_S
        while time.monotonic() < stuck_s and self._growth() < 2 * self._memory_bytes:
            # Again and again: what it was doing may not have looked for the interrupt yet.
            self._cursor.interrupt()
            if self._done.wait(_STEP_S):
                return
        _when_stuck(self.fault)

    def _over(self) -> str:
        if time.monotonic() - self._started_s >= self._limit_s:
            return (
                f"it ran longer than {self._limit_s:g} s; read less: filter by time, or aggregate"
            )
        if self._growth() > self._memory_bytes:
            return (
                f"it needs more than {self._memory_bytes >> 20} MiB of memory; "
                "read fewer rows or columns, or raise sql.memory"
            )
        return ""

    def _growth(self) -> int:
        return resident_bytes() - self._before_bytes


@contextmanager
def watched(
    cursor: duckdb.DuckDBPyConnection, limit_s: float, memory_bytes: int = MEMORY
) -> Iterator[Watch]:
    """Interrupt what the cursor runs after `limit_s`, or once the process has grown by more than
    `memory_bytes`; end the process where it goes on all the same."""
    watch = Watch(cursor, limit_s, memory_bytes)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def end_process_when_stuck(end: Callable[[], None]) -> None:
    """Have `end` called when a query does not stop after its interrupt.

    It is the process that cannot be trusted any more, so there is one such answer for all of it.
    """
    global _end  # noqa: PLW0603
    _end = end


def _when_stuck(fault: str) -> None:
    _log.critical("a query cannot be stopped (%s); its process is ended", fault.partition(";")[0])
    _end()


def _end() -> None:
    """Outside of the store process nothing is ended."""


def resident_bytes() -> int:
    """Return how much memory this process holds; 0 where the machine does not say."""
    try:
        return int(_STATM.read_bytes().split()[1]) * _PAGE
    except OSError:
        return 0
