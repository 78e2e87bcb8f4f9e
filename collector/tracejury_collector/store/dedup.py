"""The window of content hashes that recognizes spans and log records sent twice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

WINDOW_NS = 15 * 60 * 1_000_000_000
WINDOW_ROWS = 2_000_000
RUN_ROWS = 1 << 19


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """128-bit hashes in order, as two halves, and when the newest of them came."""

    high: Hashes
    low: Hashes
    newest_ns: int

    def __len__(self) -> int:
        return len(self.high)

    def contains(self, high: Hashes, low: Hashes) -> NDArray[np.bool_]:
        """Return which of the given hashes are in the run."""
        found = np.zeros(len(high), dtype=np.bool_)
        at = np.searchsorted(self.high, high)
        ask = np.arange(len(high))
        while len(ask):
            here = at[ask]
            ask, here = ask[here < len(self)], here[here < len(self)]
            same_high = self.high[here] == high[ask]
            ask, here = ask[same_high], here[same_high]
            same_low = self.low[here] == low[ask]
            found[ask[same_low]] = True
            ask = ask[~same_low]
            at[ask] += 1
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Sifted:
    """Which rows of a batch are new, and what the window has to remember once they are stored."""

    new: NDArray[np.bool_]
    run: Run


class DedupWindow:
    """The hashes of at least the last 2 million rows, less those older than 15 minutes.

    Runs lie in order of arrival. Two neighbors of like size are merged, so that there are few;
    a run is dropped whole.
    """

    def __init__(self) -> None:
        self._runs: list[Run] = []

    def __len__(self) -> int:
        return sum(len(run) for run in self._runs)

    def sift(self, high: Hashes, low: Hashes, now_ns: int) -> Sifted:
        """Return the rows that are neither in the window nor earlier in this batch."""
        order = np.lexsort((low, high))
        high, low = high[order], low[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        for run in self._runs:
            ask = np.flatnonzero(new)
            new[ask[run.contains(high[ask], low[ask])]] = False
        mask = np.zeros(len(order), dtype=np.bool_)
        mask[order[new]] = True
        return Sifted(new=mask, run=Run(high=high[new], low=low[new], newest_ns=now_ns))

    def load(self, high: Hashes, low: Hashes, newest_ns: int) -> None:
        """Take over the hashes of rows that are stored, in any order."""
        order = np.argsort(high)
        self.remember(Run(high=high[order], low=low[order], newest_ns=newest_ns))

    def remember(self, run: Run) -> None:
        """Take over hashes whose rows are stored, and forget what has left the window."""
        if len(run):
            self._runs.append(run)
        while len(self._runs) > 1 and self._is_due(*self._runs[-2:]):
            newer = self._runs.pop()
            self._runs[-1] = _merge(self._runs[-1], newer)
        rest = len(self)
        while self._runs:
            rest -= len(self._runs[0])
            old = self._runs[0].newest_ns < run.newest_ns - WINDOW_NS
            if not old and rest < WINDOW_ROWS:
                break
            del self._runs[0]

    @staticmethod
    def _is_due(older: Run, newer: Run) -> bool:
        return len(older) < 2 * len(newer) and len(older) + len(newer) <= RUN_ROWS


def _merge(older: Run, newer: Run) -> Run:
    high = np.concatenate((older.high, newer.high))
    order = np.argsort(high, kind="stable")
    low = np.concatenate((older.low, newer.low))
    return Run(high=high[order], low=low[order], newest_ns=newer.newest_ns)
