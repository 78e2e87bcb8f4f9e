"""The clock of the store: arrivals are ordered by it, and waits are measured with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class SteadyClock:
    """The time of day, but for never going back: while the machine's clock is behind, it runs on.

    Else whatever waits for a trace to be quiet would wait for as long as the machine's clock was
    set back. Safe in any thread.
    """

    def __init__(
        self,
        wall_ns: Callable[[], int] = time.time_ns,
        ticks_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._wall_ns = wall_ns
        self._ticks_ns = ticks_ns
        self._lock = threading.Lock()
        self._last_ns = 0
        self._ticked_ns = ticks_ns()

    def __call__(self) -> int:
        """Return the time, in nanoseconds UTC."""
        with self._lock:
            ticks_ns = self._ticks_ns()
            ran_on_ns = self._last_ns + ticks_ns - self._ticked_ns
            self._last_ns, self._ticked_ns = max(self._wall_ns(), ran_on_ns), ticks_ns
            return self._last_ns

    def not_before(self, time_ns: int) -> None:
        """Run on from a time that was told before, as by a process that ended."""
        with self._lock:
            self._last_ns = max(self._last_ns, time_ns)
            self._ticked_ns = self._ticks_ns()
