"""A circuit breaker: what keeps failing is left alone, and tried again by one at a time.

Source: M. Nygard, "Release It!", 2nd ed., 2018, chapter 5, "Circuit Breaker".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["closed", "open", "half_open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """Opens after so many failures in a row; each failed trial doubles the pause."""

    open_after: int
    pause_s: float
    longest_pause_s: float


class Breaker:
    """Whether an endpoint may be asked; times are of any clock that only goes forward."""

    def __init__(self, policy: BreakerPolicy) -> None:
        self._policy = policy
        self._pause_s = 0.0
        self._ask_again_s = 0.0
        self._is_tried = False
        self.failures = 0
        self.failing_since_s = 0.0
        self.said = ""
        self.opened = 0
        """How often it has opened."""

    @property
    def is_open(self) -> bool:
        """Whether it has opened and not closed since."""
        return self._pause_s > 0

    def state(self, now_s: float) -> State:
        """Say whether all may ask, nobody, or the one that tries."""
        if not self.is_open:
            return "closed"
        return "half_open" if self._is_tried or now_s >= self._ask_again_s else "open"

    def wait_s(self, now_s: float) -> float:
        """Return how long nobody may ask yet; 0.0 if somebody may, or is trying just now."""
        return max(0.0, self._ask_again_s - now_s) if self.is_open else 0.0

    def may_ask(self, now_s: float) -> bool:
        """Whether one more may ask now."""
        return not self.is_open or (not self._is_tried and now_s >= self._ask_again_s)

    def asks(self) -> None:
        """Note that one begins to ask."""
        self._is_tried = self.is_open

    def ended(self) -> None:
        """Note that one has ended without having learned anything of the endpoint."""
        self._is_tried = False

    def succeeded(self) -> None:
        """Note that the endpoint has answered."""
        self.failures = 0
        self.said = ""
        self._pause_s = 0.0
        self._is_tried = False

    def failed(self, now_s: float, said: str) -> None:
        """Note that the endpoint has failed, and how."""
        if not self.failures:
            self.failing_since_s = now_s
        self.failures += 1
        self.said = said
        if self.is_open:
            if self._is_tried and now_s >= self._ask_again_s:
                self._pause(now_s, min(self._pause_s * 2, self._policy.longest_pause_s))
        elif self.failures >= self._policy.open_after:
            self.opened += 1
            self._pause(now_s, self._policy.pause_s)

    def _pause(self, now_s: float, pause_s: float) -> None:
        self._pause_s = pause_s
        self._ask_again_s = now_s + pause_s
        self._is_tried = False
