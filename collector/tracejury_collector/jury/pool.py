"""The jury as the store sees it: jobs from the database, out to the processes, results back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import duckdb

from tracejury.result import Failure, Outcome, outcome_from_json
from tracejury_collector.config import Config
from tracejury_collector.errors import Unavailable
from tracejury_collector.jury.budgets import Budgets
from tracejury_collector.jury.dispatch import Dispatch
from tracejury_collector.jury.faults import Faults, jobs_of
from tracejury_collector.jury.gate import Gate, with_spent
from tracejury_collector.jury.handout import HandOut
from tracejury_collector.jury.intake import Intake
from tracejury_collector.jury.jobs import Job, line_key
from tracejury_collector.jury.juror import Entry, Juror
from tracejury_collector.jury.lane import Lane
from tracejury_collector.jury.lines import Lines
from tracejury_collector.jury.panel import Panel
from tracejury_collector.jury.protocol import read_outcomes
from tracejury_collector.jury.recorder import Recorder
from tracejury_collector.jury.roster import LaneName, Seat, SeatOf
from tracejury_collector.jury.traces import TraceKey
from tracejury_collector.store.database import Database

log = logging.getLogger(__name__)

PAGE_JOBS = 2048
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStats:
    """What the jury is doing, by lane: `lanes` jobs in memory, `running` ones that processes work
    on, `seconds` that evaluators took since the store started.
    """

    workers: int
    queued: int
    lanes: Mapping[str, int]
    in_flight: int
    running: Mapping[str, int]
    seconds: Mapping[str, float]
    outcomes: Mapping[str, int]
    killed: int


class JuryPool:
    """Hands jobs to jury processes; everything but `poke` and `offer` runs on one event loop."""

    def __init__(
        self,
        db: Database,
        config: Config,
        seat_of: SeatOf,
        now_ns: Callable[[], int] = time.time_ns,
        budgets: Budgets | None = None,
    ) -> None:
        self._intake = Intake(db, seat_of)
        self._recorder = Recorder(db, now_ns)
        self._queries = Lane(db, self._record, now_ns)
        self._faults = Faults(db, self._record)
        self._lines = Lines()
        self._handout = HandOut(db, self._faults, self._put_back, self._drop, now_ns)
        self.gate = Gate(config.judge, budgets, now_ns)
        self._dispatch = Dispatch(
            self._lines, self._handout, self._queries, self.gate, self._record
        )
        self._panel = Panel(
            faults=self._faults,
            record=self._record,
            put_back=self._put_back,
            hear=self._take_outcomes,
            answered_timeout_s=config.jury.timeout,
        )
        self.handle = self._panel.handle
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._outcomes: Counter[str] = Counter()
        self._seconds = dict.fromkeys(get_args(LaneName), 0.0)

    def offer(self, key: TraceKey, data: bytes) -> None:
        """Take the JSON of a trace that has jobs, to save assembling it again."""
        self._handout.traces.offer(key, data)

    def poke(self) -> None:
        """Say, from any thread, that there are new jobs in the database."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._poked)

    def _poked(self) -> None:
        self._lines.note_news()
        self._wake.set()

    @property
    def stats(self) -> PoolStats:
        """What the jury is doing at this moment."""
        jurors = list(self._panel.jurors)
        lanes = Counter({"quick": 0, "waiting": 0, "query": self._queries.waiting})
        running = Counter({"quick": 0, "waiting": 0})
        for juror in jurors:
            running[juror.lane] += juror.in_flight
        for line in list(self._lines):
            lanes[line.key[0]] += len(line)
        return PoolStats(
            workers=len(jurors),
            queued=lanes.total(),
            lanes=dict(lanes),
            in_flight=running.total(),
            running=dict(running),
            seconds=dict(self._seconds),
            outcomes=dict(self._outcomes),
            killed=self._panel.killed,
        )

    def obstacle(self, seat: Seat) -> str:
        """Say why runs of an evaluator do not begin now; "" if nothing stands in their way."""
        return self._lines.held(line_key(seat))

    async def run(self, stop: asyncio.Event) -> None:
        """Keep the jury at work until `stop` is set; then write the outcomes that are in."""
        self._loop = asyncio.get_running_loop()
        recording = asyncio.create_task(self._recorder.run())
        asking = asyncio.create_task(self._queries.run())
        stopped = asyncio.create_task(stop.wait())
        stopped.add_done_callback(lambda _: self._wake.set())
        try:
            while not stop.is_set():
                await self._step()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), _LOOK_S)
                self._wake.clear()
        finally:
            self._loop = None
            stopped.cancel()
            asking.cancel()
            self._dispatch.cancel()
            await self._recorder.stop(recording)

    async def _step(self) -> None:
        try:
            await self._refill()
        except (Unavailable, duckdb.Error) as error:
            log.warning("jobs cannot be read now: %s", error)
            self._lines.note_news()
        self._dispatch.hand_out(self._panel.jurors)
        self._panel.end_overdue(time.monotonic())

    async def _refill(self) -> None:
        """Read what the lines want, live jobs first; a page is handed out before the next."""
        reading = self._lines.next_reading()
        if reading is None:
            return
        is_for = partial(self._lines.is_for, reading)
        page = await asyncio.to_thread(self._intake.read, reading, is_for, PAGE_JOBS)
        self._lines.took(reading, page.end, has_more=page.is_full)
        for key, job, clear in page.jobs:
            for name, outcome in clear.items():
                self._record((job, name), outcome, None)
            if job.pairs:
                self._lines.opened(key).add(job)
        if self._lines.want_more:
            self._wake.set()

    def _put_back(self, jobs: Iterable[Job]) -> None:
        self._dispatch.put_back(jobs)
        self._wake.set()

    def _drop(self, jobs: Iterable[Job]) -> None:
        """Forget jobs that nobody waits for any more."""
        for job in jobs:
            self._dispatch.let_go(job, None)

    def _take_outcomes(self, juror: Juror, header: Mapping[str, Any], payload: bytes) -> None:
        for item in read_outcomes(payload):
            entry = juror.answered(header["id"], item.run)
            if entry is not None:
                self._answered(juror, entry, _outcome(item.outcome), item.duration_ms)
        if header["done"]:
            left = jobs_of(juror.done(header["id"]))
            self._faults.void(left)
            self._put_back(left)

    def _answered(self, juror: Juror, entry: Entry, outcome: Outcome, duration_ms: float) -> None:
        if juror.lane == "quick":
            self._record(entry, outcome, duration_ms)
            return
        job, name = entry
        spent_before = job.pairs[name].spent
        if self._dispatch.is_repeated(job, outcome):
            self._faults.void([job])
            return
        juror.unwritten += 1
        whole = with_spent(outcome, spent_before)
        self._record(entry, whole, duration_ms, partial(self._written, juror))

    def _written(self, juror: Juror) -> None:
        juror.unwritten -= 1
        self._wake.set()

    def _record(
        self,
        entry: Entry,
        outcome: Outcome,
        duration_ms: float | None,
        written: Callable[[], None] | None = None,
    ) -> None:
        job, name = entry
        self._outcomes[type(outcome).__name__.lower()] += 1
        self._seconds[job.pairs[name].seat.lane] += (duration_ms or 0.0) / 1e3
        self._recorder.record(job, name, outcome, duration_ms, written)
        self._dispatch.let_go(job, outcome)


def _outcome(data: Mapping[str, Any]) -> Outcome:
    try:
        return outcome_from_json(data)
    except ValueError as error:
        return Failure(error_type="UnusableOutcome", message=str(error)[:1000])
