"""How far the store is behind the requests that come in."""

from __future__ import annotations

import threading

WINDOW_NS = 1_000_000_000


class Lag:
    """Remembers how long requests took from their arrival to their commit; safe in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began_ns = 0
        self._now_ns = 0
        self._before_ns = 0

    def note(self, arrived_ns: int, committed_ns: int) -> None:
        """Take note of a request; its clock may not have run backwards."""
        with self._lock:
            self._turn(committed_ns)
            self._now_ns = max(self._now_ns, committed_ns - arrived_ns)

    def at(self, now_ns: int) -> int:
        """Return the longest that a request took in the last one to two seconds, in ns."""
        with self._lock:
            self._turn(now_ns)
            return max(self._now_ns, self._before_ns)

    def _turn(self, now_ns: int) -> None:
        """Begin a new window when the present one is over."""
        elapsed_ns = now_ns - self._began_ns
        if 0 <= elapsed_ns < WINDOW_NS:
            return
        self._before_ns = self._now_ns if elapsed_ns < 2 * WINDOW_NS else 0
        self._now_ns = 0
        self._began_ns = now_ns
