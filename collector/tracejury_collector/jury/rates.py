"""Limits of requests and tokens a minute, as a bucket that fills steadily."""

from __future__ import annotations

BURST_S = 5.0
"""What may be asked at once after a quiet time, as the time in which it is allowed."""


class Rate:
    """So much a minute; times are of any clock that only goes forward.

    What is taken may be more than there is: who comes next then waits for longer. So a limit
    holds over any long time whatever single takers need.
    """

    def __init__(self, per_minute: float, now_s: float) -> None:
        self._per_s = per_minute / 60.0
        self._most = max(1.0, self._per_s * BURST_S)
        self._level = self._most
        self._filled_s = now_s

    def wait_s(self, now_s: float) -> float:
        """Return how long nothing may be taken; 0.0 if something may be."""
        self._fill(now_s)
        lacking = min(1.0, self._most) - self._level
        return max(0.0, lacking / self._per_s)

    def take(self, amount: float, now_s: float) -> None:
        """Take this much; a negative amount gives back what was taken in vain."""
        self._fill(now_s)
        self._level = min(self._most, self._level - amount)

    def _fill(self, now_s: float) -> None:
        passed_s = max(0.0, now_s - self._filled_s)
        self._filled_s = max(self._filled_s, now_s)
        self._level = min(self._most, self._level + passed_s * self._per_s)
