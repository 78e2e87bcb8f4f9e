"""The store's side of one jury process: what it was given, what it runs, how to end it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracejury_collector.ipc import BrokenFrame, write_frame
from tracejury_collector.jury.jobs import Job
from tracejury_collector.jury.progress import Progress
from tracejury_collector.jury.protocol import JobOrder, JudgeOrder, JurorLane, judge_frame
from tracejury_collector.jury.roster import Seat

log = logging.getLogger(__name__)

MAX_ORDERS = 2
"""Orders a quick process holds at a time: one to work on, one so that it need not wait."""
GRACE_S = 5.0
"""What a process that runs several at a time gets to end one of them by itself."""

Entry = tuple[Job, str]


@dataclass(slots=True)
class _Order:
    """The runs of an order that have no outcome yet."""

    unanswered: dict[int, Entry] = field(default_factory=dict)


class Juror:
    """A connected jury process.

    A quick one takes orders of many runs and runs one at a time; one for evaluators that wait
    takes orders of one run each, as many at a time as it has slots. `unwritten` counts the
    outcomes that are not in the database yet: to lose them is to have run in vain.
    """

    def __init__(
        self, pid: int, lane: JurorLane, progress: Progress, writer: asyncio.StreamWriter
    ) -> None:
        self.pid = pid
        self.lane = lane
        self.promised = 0
        self.unwritten = 0
        self.gone = False
        self.is_leaving = False
        self._progress = progress
        self._writer = writer
        self._orders: dict[int, _Order] = {}
        self._next_run = 1
        self._seen = [(0, 0.0)] * progress.slots

    @classmethod
    def welcome(cls, hello: Mapping[str, Any], writer: asyncio.StreamWriter) -> Juror:
        """Return the juror that introduces itself.

        Raises: BrokenFrame if the introduction is not one.
        """
        try:
            pid, path = int(hello["pid"]), Path(hello["progress"])
            lane: JurorLane = "waiting" if hello["lane"] == "waiting" else "quick"
            if pid <= 1 or os.getpgid(pid) != pid or pid == os.getpgrp():
                raise ValueError(f"process {pid} does not lead a group of its own")
            return cls(pid, lane, Progress.attach(path), writer)
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise BrokenFrame(f"no introduction of a jury process: {error!r}") from error

    @property
    def room(self) -> int:
        """How many orders it can take."""
        if self.gone or self.is_leaving:
            return 0
        most = MAX_ORDERS if self.lane == "quick" else self._progress.slots - self.unwritten
        return max(0, most - len(self._orders) - self.promised)

    @property
    def is_idle(self) -> bool:
        """Whether it has nothing in hand and is promised nothing."""
        return not (self._orders or self.promised or self.unwritten)

    @property
    def in_flight(self) -> int:
        """How many runs it owes outcomes for."""
        return sum(len(order.unanswered) for order in self._orders.values())

    async def give(self, jobs: Sequence[tuple[Job, bytes]]) -> None:
        """Send orders for all that is owed to the jobs, each with its trace."""
        batches = [jobs] if self.lane == "quick" else [[job] for job in jobs]
        for batch in batches:
            self._order(batch)
        with contextlib.suppress(OSError):
            await self._writer.drain()

    def _order(self, jobs: Iterable[tuple[Job, bytes]]) -> None:
        order, orders, seats = _Order(), [], {}
        order_id = self._next_run
        for job, trace in jobs:
            job.is_sent = True
            identities = tuple(pair.seat.identity for pair in job.pairs.values())
            orders.append(JobOrder(run=self._next_run, evaluators=identities, trace=trace))
            for name, pair in job.pairs.items():
                order.unanswered[self._next_run] = (job, name)
                seats[pair.seat.identity] = _ordered(pair.seat)
                self._next_run += 1
        self._orders[order_id] = order
        write_frame(
            self._writer, *judge_frame(JudgeOrder(id=order_id, evaluators=seats, jobs=orders))
        )

    def answered(self, order_id: int, run: int) -> Entry | None:
        """Return what this run was, once; None if it was answered before."""
        order = self._orders.get(order_id)
        return order.unanswered.pop(run, None) if order else None

    def done(self, order_id: int) -> list[Entry]:
        """Close an order; return what it leaves without an outcome."""
        order = self._orders.pop(order_id, None)
        return list(order.unanswered.values()) if order else []

    def overdue(self, now_s: float, otherwise_s: float) -> list[Entry] | None:
        """Return what it has run for longer than the timeout, as answered; None if nothing.

        A run that was answered already is no entry; `otherwise_s` is its timeout.
        """
        late = [run for run in self._watched(now_s) if self._is_late(*run, now_s, otherwise_s)]
        return [entry for run, _ in late for entry in self._take(run)] if late else None

    def _watched(self, now_s: float) -> Iterator[tuple[int, float]]:
        """Yield the present runs and since when they have been seen."""
        for slot, run in enumerate(self._progress.runs):
            if run != self._seen[slot][0]:
                self._seen[slot] = (run, now_s)
            if run:
                yield self._seen[slot]

    def _is_late(self, run: int, since_s: float, now_s: float, otherwise_s: float) -> bool:
        timeout_s = next((_timeout_s(*e) for e in self._entries(run)), otherwise_s)
        return now_s - since_s > timeout_s + (0 if self.lane == "quick" else GRACE_S)

    def take_running(self) -> list[Entry]:
        """Return what it runs now, or ran when it died, as answered."""
        return [entry for run in self._progress.runs if run for entry in self._take(run)]

    def _entries(self, run: int) -> Iterator[Entry]:
        for order in self._orders.values():
            if run in order.unanswered:
                yield order.unanswered[run]

    def _take(self, run: int) -> list[Entry]:
        found = list(self._entries(run))
        for order in self._orders.values():
            order.unanswered.pop(run, None)
        return found

    def unanswered(self) -> Iterator[Entry]:
        """Return all it owes outcomes for."""
        for order in self._orders.values():
            yield from order.unanswered.values()

    def kill(self) -> None:
        """End the process and all it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let go of the connection."""
        self.gone = True
        self._progress.close()
        self._writer.close()


def _timeout_s(job: Job, name: str) -> float:
    return job.pairs[name].seat.timeout_s


def _ordered(seat: Seat) -> dict[str, Any]:
    """What a jury process is told of an evaluator."""
    return {
        "name": seat.name,
        "type": seat.type,
        "config": seat.config,
        "criteria": seat.criteria,
        "fingerprint": seat.fingerprint,
        "timeout_s": seat.timeout_s,
    }
