"""Which jobs go to which jury process next."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections import deque
from collections.abc import Collection, Iterable

from tracejury.result import Outcome
from tracejury_collector.jury.faults import Record
from tracejury_collector.jury.gate import Gate, Hold, Ticket
from tracejury_collector.jury.handout import HandOut
from tracejury_collector.jury.jobs import QUERY, QUICK, Job, LineKey, line_key
from tracejury_collector.jury.juror import Juror
from tracejury_collector.jury.lane import BATCH_JOBS, Lane
from tracejury_collector.jury.lines import Line, Lines

ORDER_JOBS = 128


class Dispatch:
    """Hands out what waits, each lane to its own processes, live jobs before those of runs.

    Jobs whose next attempt is their last are run with nothing beside them: such a job may be what
    killed the processes that it was in, and its neighbors shall not be taken for it.
    """

    def __init__(
        self, lines: Lines, handout: HandOut, queries: Lane, gate: Gate, record: Record
    ) -> None:
        self._lines = lines
        self._handout = handout
        self._queries = queries
        self._gate = gate
        self._record = record
        self._in_hand: dict[int, Line] = {}
        self._resting: list[tuple[float, int, Job]] = []
        self._suspects: deque[Job] = deque()
        self._apart: Juror | None = None
        self._numbers = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()

    def hand_out(self, jurors: Collection[Juror]) -> None:
        """Promise waiting jobs to all that have room."""
        self._hand_out_queries()
        self._hand_out_quick([juror for juror in jurors if juror.lane == "quick"])
        self._hand_out_waiting([juror for juror in jurors if juror.lane == "waiting"])

    def put_back(self, jobs: Iterable[Job]) -> None:
        """Let jobs wait again, before all others of their line."""
        for job in reversed(list(jobs)):
            self.let_go(job, None)
            self._lines.opened(_key(job)).put_back([job])

    def let_go(self, job: Job, outcome: Outcome | None) -> None:
        """A job is no longer under way; `outcome` is what came of it, None if nothing did."""
        line = self._in_hand.pop(id(job), None)
        if line is not None:
            line.in_hand -= 1
            self._gate.leave(job, outcome, was_sent=job.is_sent)
            job.is_sent = False

    def is_repeated(self, job: Job, outcome: Outcome) -> bool:
        """Say whether a run is to be tried again, and have it wait for that if so."""
        if id(job) in self._in_hand:
            (pair,) = job.pairs.values()
            self.let_go(job, outcome)
            pause_s = self._gate.repeat_in_s(job, pair, outcome)
            if pause_s is not None:
                due_s = time.monotonic() + pause_s
                heapq.heappush(self._resting, (due_s, next(self._numbers), job))
                return True
        return False

    def cancel(self) -> None:
        """Hand out nothing any more."""
        for task in self._tasks:
            task.cancel()

    def _hand_out_queries(self) -> None:
        while len(self._lines.queries) and self._queries.waiting < BATCH_JOBS:
            for job in self._lines.queries.take(BATCH_JOBS):
                self._queries.add(job)

    def _hand_out_quick(self, jurors: Collection[Juror]) -> None:
        """Give large orders to the least loaded."""
        while len(self._lines.quick):
            free = [juror for juror in jurors if juror.room]
            if not free:
                return
            juror = min(free, key=lambda j: (j.promised, j.in_flight))
            self._give(juror, self._lines.quick.take(ORDER_JOBS), promised=1)

    def _hand_out_waiting(self, jurors: Collection[Juror]) -> None:
        """Give as many runs as there is room for, those first of whose kind fewest are under way"""
        self._wake_rested()
        self._set_apart(jurors)
        for line in self._lines.waiting:
            line.held = ""
        for juror in jurors:
            if juror is self._apart:
                self._run_alone(juror)
                continue
            taken: list[Job] = []
            while len(taken) < juror.room and (job := self._next()) is not None:
                taken.append(job)
            if taken:
                self._give(juror, taken, promised=len(taken))

    def _wake_rested(self) -> None:
        """Let those wait in their lines again that have rested."""
        while self._resting and self._resting[0][0] <= time.monotonic():
            _, _, job = heapq.heappop(self._resting)
            self.put_back([job])

    def _set_apart(self, jurors: Collection[Juror]) -> None:
        """Choose the process for suspects, if there are any."""
        if self._apart not in jurors:
            self._apart = None
        if self._apart is None and self._suspects and jurors:
            self._apart = min(jurors, key=lambda juror: juror.in_flight)

    def _run_alone(self, juror: Juror) -> None:
        if juror.room and juror.is_idle and self._suspects:
            self._give(juror, [self._suspects.popleft()], promised=1)
        elif juror.is_idle:
            self._apart = None

    def _next(self) -> Job | None:
        """Take a job that may begin now, beside others; suspects are laid aside."""
        while True:
            filled = [line for line in self._lines.waiting if len(line) and not line.held]
            if not filled:
                return None
            line = min(filled, key=lambda each: each.in_hand)
            job = self._entered(line)
            if job is not None and not any(pair.is_suspect for pair in job.pairs.values()):
                return job
            if job is not None:
                self._suspects.append(job)

    def _entered(self, line: Line) -> Job | None:
        """Take the first job of a line through the gate; None if it cannot pass it now, or ever."""
        (job,) = line.take(1)
        entered = self._gate.enter(job)
        if isinstance(entered, Ticket):
            line.in_hand += 1
            self._in_hand[id(job)] = line
            return job
        if isinstance(entered, Hold):
            line.held = entered.reason
            line.put_back([job])
        else:
            (name,) = job.pairs
            self._record((job, name), entered, None)
        return None

    def _give(self, juror: Juror, jobs: list[Job], promised: int) -> None:
        juror.promised += promised
        task = asyncio.create_task(self._handout.give(juror, jobs, promised))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _key(job: Job) -> LineKey:
    pair = next(iter(job.pairs.values()))
    return {"quick": QUICK, "query": QUERY}.get(pair.seat.lane) or line_key(pair.seat)
