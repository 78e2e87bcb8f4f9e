"""The store's side of one jury process: what it was given, what it runs, how to end it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracejury_collector.ipc import BrokenFrame, write_frame
from tracejury_collector.jury.jobs import Job
from tracejury_collector.jury.progress import Progress
from tracejury_collector.jury.protocol import JobOrder, JudgeOrder, judge_frame
from tracejury_collector.jury.roster import Seat

log = logging.getLogger(__name__)

MAX_ORDERS = 2
"""Orders a process holds at a time: one to work on, one so that it need not wait."""

Entry = tuple[Job, str]


@dataclass(slots=True)
class _Order:
    """The runs of an order that have no outcome yet."""

    unanswered: dict[int, Entry] = field(default_factory=dict)


class Juror:
    """A connected jury process."""

    def __init__(self, pid: int, progress: Progress, writer: asyncio.StreamWriter) -> None:
        self.pid = pid
        self.promised = 0
        self.gone = False
        self.is_leaving = False
        self._progress = progress
        self._writer = writer
        self._orders: dict[int, _Order] = {}
        self._next_run = 1
        self._seen_run = 0
        self._seen_since_s = 0.0

    @classmethod
    def welcome(cls, hello: Mapping[str, Any], writer: asyncio.StreamWriter) -> Juror:
        """Return the juror that introduces itself.

        Raises: BrokenFrame if the introduction is not one.
        """
        try:
            pid, path = int(hello["pid"]), Path(hello["progress"])
            if pid <= 1 or os.getpgid(pid) != pid or pid == os.getpgrp():
                raise ValueError(f"process {pid} does not lead a group of its own")
            return cls(pid, Progress.attach(path), writer)
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise BrokenFrame(f"no introduction of a jury process: {error!r}") from error

    @property
    def has_room(self) -> bool:
        """Whether it can take another order."""
        return (
            not self.gone and not self.is_leaving and len(self._orders) + self.promised < MAX_ORDERS
        )

    @property
    def in_flight(self) -> int:
        """How many runs it owes outcomes for."""
        return sum(len(order.unanswered) for order in self._orders.values())

    async def give(self, jobs: Iterable[tuple[Job, bytes]]) -> None:
        """Send an order for all that is owed to the jobs, each with its trace."""
        order, orders, seats = _Order(), [], {}
        order_id = self._next_run
        for job, trace in jobs:
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
        with contextlib.suppress(OSError):
            await self._writer.drain()

    def answered(self, order_id: int, run: int) -> Entry | None:
        """Return what this run was, once; None if it was answered before."""
        order = self._orders.get(order_id)
        return order.unanswered.pop(run, None) if order else None

    def done(self, order_id: int) -> list[Entry]:
        """Close an order; return what it leaves without an outcome."""
        order = self._orders.pop(order_id, None)
        return list(order.unanswered.values()) if order else []

    def overdue(self, now_s: float, otherwise_s: float) -> bool:
        """Say whether what it runs now has run longer than its timeout.

        `otherwise_s` is the timeout of a run that was answered already.
        """
        run = self._progress.run
        if run != self._seen_run:
            self._seen_run, self._seen_since_s = run, now_s
        return run != 0 and now_s - self._seen_since_s > self._timeout_s(run, otherwise_s)

    def _timeout_s(self, run: int, otherwise_s: float) -> float:
        for order in self._orders.values():
            if run in order.unanswered:
                job, name = order.unanswered[run]
                return job.pairs[name].seat.timeout_s
        return otherwise_s

    def take_running(self) -> Entry | None:
        """Return what it runs now, or ran when it died, as answered; None if nothing."""
        run = self._progress.run
        for order in self._orders.values():
            if run in order.unanswered:
                return order.unanswered.pop(run)
        return None

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


def _ordered(seat: Seat) -> dict[str, Any]:
    """What a jury process is told of an evaluator."""
    return {
        "type": seat.type,
        "config": seat.config,
        "criteria": seat.criteria,
        "fingerprint": seat.fingerprint,
    }
