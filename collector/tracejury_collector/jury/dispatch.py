"""Which jobs go to which jury process next."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Iterable

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

    def __init__(self, lines: Lines, handout: HandOut, queries: Lane) -> None:
        self._lines = lines
        self._handout = handout
        self._queries = queries
        self._in_hand: dict[int, Line] = {}
        self._suspects: deque[Job] = deque()
        self._apart: Juror | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def hand_out(self, jurors: Collection[Juror]) -> None:
        """Promise waiting jobs to all that have room."""
        self._hand_out_queries()
        self._hand_out_quick([juror for juror in jurors if juror.lane == "quick"])
        self._hand_out_waiting([juror for juror in jurors if juror.lane == "waiting"])

    def put_back(self, jobs: Iterable[Job]) -> None:
        """Let jobs wait again, before all others of their line."""
        for job in reversed(list(jobs)):
            self.let_go(job)
            self._lines.opened(_key(job)).put_back([job])

    def let_go(self, job: Job) -> None:
        """A job is no longer under way."""
        line = self._in_hand.pop(id(job), None)
        if line is not None:
            line.in_hand -= 1

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
        self._set_apart(jurors)
        for juror in jurors:
            if juror is self._apart:
                self._run_alone(juror)
                continue
            taken: list[Job] = []
            while len(taken) < juror.room and (job := self._next()) is not None:
                taken.append(job)
            if taken:
                self._give(juror, taken, promised=len(taken))

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
        """Take a job that may run beside others; suspects are laid aside."""
        while True:
            filled = [line for line in self._lines.waiting if len(line)]
            if not filled:
                return None
            line = min(filled, key=lambda each: each.in_hand)
            (job,) = line.take(1)
            line.in_hand += 1
            self._in_hand[id(job)] = line
            if not any(pair.is_suspect for pair in job.pairs.values()):
                return job
            self._suspects.append(job)

    def _give(self, juror: Juror, jobs: list[Job], promised: int) -> None:
        juror.promised += promised
        task = asyncio.create_task(self._handout.give(juror, jobs, promised))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _key(job: Job) -> LineKey:
    pair = next(iter(job.pairs.values()))
    return {"quick": QUICK, "query": QUERY}.get(pair.seat.lane) or line_key(pair.seat)
