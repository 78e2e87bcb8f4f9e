"""The jury as the store sees it: jobs from the database, out to the processes, results back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from tracejury.result import Failure, Outcome, outcome_from_json
from tracejury_collector.config import Config
from tracejury_collector.errors import TooLarge, Unavailable
from tracejury_collector.ipc import BrokenFrame, read_frame
from tracejury_collector.jury.intake import Intake
from tracejury_collector.jury.jobs import MAX_LOSSES, Job
from tracejury_collector.jury.juror import Entry, Juror
from tracejury_collector.jury.lane import Lane
from tracejury_collector.jury.protocol import read_outcomes
from tracejury_collector.jury.recorder import Recorder
from tracejury_collector.jury.roster import SeatOf
from tracejury_collector.jury.traces import TraceKey, TraceSource
from tracejury_collector.store.database import Database
from tracejury_collector.store.ledger import AttemptsVoid, AttemptsWrite

log = logging.getLogger(__name__)

ORDER_JOBS = 128
ORDER_BYTES = 8 << 20
QUEUE_LOW = 512
QUEUE_FILL = 2048
_LOOK_S = 0.1
_RETRY_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStats:
    """What the jury is doing."""

    workers: int
    queued: int
    in_flight: int
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
    ) -> None:
        self._db = db
        self._timeout_s = config.jury.timeout
        self._now_ns = now_ns
        self._traces = TraceSource(db)
        self._intake = Intake(db, seat_of)
        self._recorder = Recorder(db, now_ns)
        self._lane = Lane(db, self._record, now_ns)
        self._queue: deque[Job] = deque()
        self._jurors: set[Juror] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._more = True
        self._tasks: set[asyncio.Task[None]] = set()
        self._outcomes: Counter[str] = Counter()
        self._killed = 0

    def offer(self, key: TraceKey, data: bytes) -> None:
        """Take the JSON of a trace that has jobs, to save assembling it again."""
        self._traces.offer(key, data)

    def poke(self) -> None:
        """Say, from any thread, that there are new jobs in the database."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._poked)

    def _poked(self) -> None:
        self._more = True
        self._wake.set()

    @property
    def stats(self) -> PoolStats:
        """What the jury is doing at this moment."""
        jurors = list(self._jurors)
        return PoolStats(
            workers=len(jurors),
            queued=len(self._queue) + self._lane.waiting,
            in_flight=sum(juror.in_flight for juror in jurors),
            outcomes=dict(self._outcomes),
            killed=self._killed,
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Keep the jury at work until `stop` is set; then write the outcomes that are in."""
        self._loop = asyncio.get_running_loop()
        recording = asyncio.create_task(self._recorder.run())
        asking = asyncio.create_task(self._lane.run())
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
            for task in self._tasks:
                task.cancel()
            await self._recorder.stop(recording)

    async def handle(
        self, hello: Mapping[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve the connection of a jury process until it ends."""
        try:
            juror = Juror.welcome(hello, writer)
        except BrokenFrame as error:
            log.warning("%s", error)
            writer.close()
            return
        self._jurors.add(juror)
        self._wake.set()
        try:
            while True:
                header, payload = await read_frame(reader)
                if header["op"] == "leaving":
                    juror.is_leaving = True
                else:
                    self._take_outcomes(juror, header, payload)
        except (asyncio.IncompleteReadError, OSError, ValueError, LookupError) as error:
            if not isinstance(error, asyncio.IncompleteReadError):
                log.warning("jury process %d: %r", juror.pid, error)
        except asyncio.CancelledError:
            self._jurors.discard(juror)
            juror.close()
            raise
        finally:
            self._lost(juror)

    async def _step(self) -> None:
        try:
            if self._more and len(self._queue) + self._lane.waiting < QUEUE_LOW:
                await self._refill()
        except (Unavailable, duckdb.Error) as error:
            log.warning("jobs cannot be read now: %s", error)
            self._more = True
        self._dispatch()
        self._end_overdue()

    async def _refill(self) -> None:
        self._more = False
        count, jobs = await asyncio.to_thread(self._intake.read, QUEUE_FILL)
        self._more = count == QUEUE_FILL
        for job, clear in jobs:
            for name, outcome in clear.items():
                self._record((job, name), outcome, None)
            for part in job.parted():
                if part.is_for_queries:
                    self._lane.add(part)
                else:
                    self._queue.append(part)

    def _dispatch(self) -> None:
        """Promise waiting jobs to processes that have room; least loaded first."""
        while self._queue:
            free = [juror for juror in self._jurors if juror.has_room]
            if not free:
                return
            juror = min(free, key=lambda j: (j.promised, j.in_flight))
            count = min(ORDER_JOBS, len(self._queue))
            jobs = [self._queue.popleft() for _ in range(count)]
            juror.promised += 1
            task = asyncio.create_task(self._give(juror, jobs))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _give(self, juror: Juror, jobs: list[Job]) -> None:
        """Hand jobs over; those that cannot be handed over now wait again."""
        try:
            order = await self._prepare(jobs)
        except asyncio.CancelledError:
            self._void(jobs)
            raise
        except (Unavailable, duckdb.Error, OSError, TooLarge) as error:
            log.warning("jobs cannot be handed out now: %s", error)
            await asyncio.sleep(_RETRY_S)
            if isinstance(error, (duckdb.OutOfMemoryException, TooLarge)):
                self._blame_repeaters(jobs)
            self._put_back(job for job in jobs if job.pairs)
            return
        except Exception:
            log.exception("jobs cannot be handed out")
            await asyncio.sleep(_RETRY_S)
            self._blame_repeaters(jobs)
            self._put_back(job for job in jobs if job.pairs)
            return
        finally:
            juror.promised -= 1
        if juror.gone:
            if juror.is_leaving:
                self._void(job for job, _ in order)
            self._put_back(job for job, _ in order)
        elif order:
            await juror.give(order)

    async def _prepare(self, jobs: list[Job]) -> list[tuple[Job, bytes]]:
        """Note the attempts and return the jobs with their traces, without the superseded ones."""
        taken, traces = await asyncio.to_thread(self._traces.fetch, jobs, ORDER_BYTES)
        self._put_back(jobs[taken:])
        del jobs[taken:]
        write = AttemptsWrite(
            [job.pending.decision_id for job in jobs],
            [attempt for job in jobs for attempt in job.attempts(self._now_ns())],
        )
        live = await asyncio.wrap_future(self._db.write(write))
        return [
            (job, traces[job.pending.trace_key]) for job in jobs if job.pending.decision_id in live
        ]

    def _put_back(self, jobs: Iterable[Job]) -> None:
        self._queue.extendleft(reversed(list(jobs)))
        self._wake.set()

    def _take_outcomes(self, juror: Juror, header: Mapping[str, Any], payload: bytes) -> None:
        for item in read_outcomes(payload):
            entry = juror.answered(header["id"], item.run)
            if entry is not None:
                self._record(entry, _outcome(item.outcome), item.duration_ms)
        if header["done"]:
            left = _jobs_of(juror.done(header["id"]))
            self._void(left)
            self._put_back(left)

    def _record(self, entry: Entry, outcome: Outcome, duration_ms: float | None) -> None:
        job, name = entry
        self._outcomes[type(outcome).__name__.lower()] += 1
        self._recorder.record(job, name, outcome, duration_ms)

    def _end_overdue(self) -> None:
        """Kill processes whose evaluator runs too long: it has failed, its neighbors wait again."""
        for juror in list(self._jurors):
            if not juror.overdue(time.monotonic(), self._timeout_s):
                continue
            entry = juror.take_running()
            if entry is not None:
                timeout_s = entry[0].pairs[entry[1]].seat.timeout_s
                message = f"ran longer than {timeout_s:g} s and was stopped"
                self._record(entry, Failure(error_type="timeout", message=message), None)
                log.warning("evaluator %r %s", entry[1], message)
            self._killed += 1
            juror.kill()
            self._lost(juror)

    def _lost(self, juror: Juror) -> None:
        """Take back what a process owes; the evaluator that ran when it died is to blame."""
        if juror.gone:
            return
        self._jurors.discard(juror)
        guilty = juror.take_running()
        entries = list(juror.unanswered())
        if guilty or entries:
            juror.kill()
        juror.close()
        if guilty:
            entries.append(guilty)
        jobs = _jobs_of(entries)
        if juror.is_leaving:
            self._blame_repeaters(_jobs_of([guilty] if guilty else []))
            self._void(jobs)
        elif guilty:
            self._blame(*guilty)
        else:
            self._blame_repeaters(jobs)
        self._put_back(job for job in jobs if job.pairs)

    def _void(self, jobs: Iterable[Job]) -> None:
        """Let the attempts that a stop of the service cut short not count."""
        attempts = [attempt for job in jobs for attempt in job.voided()]
        if attempts:
            with contextlib.suppress(Unavailable):
                self._db.write(AttemptsVoid(attempts))

    def _blame_repeaters(self, jobs: Iterable[Job]) -> None:
        """Blame jobs that were there whenever something failed while no evaluator ran."""
        for job in jobs:
            job.lost += 1
            if job.lost > MAX_LOSSES:
                for name in list(job.pairs):
                    self._blame(job, name)

    def _blame(self, job: Job, name: str) -> None:
        pair = job.pairs[name]
        pair.failed += 1
        log.warning("the jury process died while running evaluator %r", name)
        if pair.is_abandoned:
            self._record((job, name), pair.abandoned(), None)


def _outcome(data: Mapping[str, Any]) -> Outcome:
    try:
        return outcome_from_json(data)
    except ValueError as error:
        return Failure(error_type="UnusableOutcome", message=str(error)[:1000])


def _jobs_of(entries: Iterable[Entry]) -> list[Job]:
    """Return the jobs of these runs, once each, that still owe something."""
    jobs = {job.pending.decision_id: job for job, _ in entries}
    return [job for job in jobs.values() if job.pairs]
