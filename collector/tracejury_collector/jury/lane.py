"""The store's own lane of judging: evaluators that are a query over the database."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import duckdb

from tracejury.result import Failure, Outcome
from tracejury_collector.errors import ConfigError, SqlRefused, Unavailable
from tracejury_collector.jury.jobs import MAX_ATTEMPTS, Job
from tracejury_collector.jury.roster import Seat
from tracejury_collector.store.database import Database
from tracejury_collector.store.ledger import AttemptsWrite
from tracejury_collector.store.sqljudging import Target, check_judging, judge
from tracejury_evaluators.sql import Sql

log = logging.getLogger(__name__)

BATCH_JOBS = 500
KNOWN_QUERIES = 256
"""Queries that are known to be allowed, or not, at a time."""
_RETRY_S = 0.5

Record = Callable[[tuple[Job, str], Outcome, float | None], None]


class Lane:
    """Judges batch by batch, one query at a time, on read cursors of its own."""

    def __init__(
        self,
        db: Database,
        record: Record,
        now_ns: Callable[[], int],
    ) -> None:
        self._db = db
        self._record = record
        self._now_ns = now_ns
        self._queue: deque[Job] = deque()
        self._wake = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self._queue)

    def add(self, job: Job) -> None:
        """Take a job all of whose evaluators are queries."""
        self._queue.append(job)
        self._wake.set()

    async def run(self) -> None:
        """Judge what comes, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._queue:
                count = min(BATCH_JOBS, len(self._queue))
                await self._judge([self._queue.popleft() for _ in range(count)])

    async def _judge(self, jobs: list[Job]) -> None:
        """Judge a batch; what cannot be judged now waits again."""
        try:
            await self._ask_all(await self._begin(jobs))
        except (Unavailable, duckdb.Error, OSError) as error:
            log.warning("runs cannot be judged by queries now: %s", error)
            await self._later(jobs)
        except Exception as error:
            log.exception("a batch of runs cannot be judged by queries")
            self._blame(jobs, error)
            await self._later(jobs)

    async def _begin(self, jobs: list[Job]) -> list[Job]:
        """Note the attempts; return the jobs without the superseded ones."""
        write = AttemptsWrite(
            [job.pending.decision_id for job in jobs],
            [attempt for job in jobs for attempt in job.attempts(self._now_ns())],
        )
        live = await asyncio.wrap_future(self._db.write(write))
        jobs[:] = [job for job in jobs if job.pending.decision_id in live]
        return jobs

    async def _ask_all(self, jobs: list[Job]) -> None:
        owing: defaultdict[str, list[tuple[Job, str]]] = defaultdict(list)
        for job in jobs:
            for name, pair in job.pairs.items():
                owing[pair.seat.identity].append((job, name))
        for entries in owing.values():
            await self._ask(entries)

    async def _ask(self, entries: list[tuple[Job, str]]) -> None:
        """Ask one query about all runs that it is to judge."""
        job, name = entries[0]
        seat = job.pairs[name].seat
        targets = list(dict.fromkeys(job.pending.trace_key for job, _ in entries))
        started_s = time.perf_counter()
        outcomes = await asyncio.to_thread(_judged, self._db, seat, targets)
        each_ms = (time.perf_counter() - started_s) * 1e3 / len(targets)
        for job, name in entries:
            self._record((job, name), outcomes[job.pending.trace_key], each_ms)

    async def _later(self, jobs: Iterable[Job]) -> None:
        await asyncio.sleep(_RETRY_S)
        self._queue.extendleft(reversed([job for job in jobs if job.pairs]))
        self._wake.set()

    def _blame(self, jobs: Iterable[Job], error: Exception) -> None:
        """After a fault of our own: give up what has failed too often."""
        for job in jobs:
            job.lost += 1
            for name in list(job.pairs) if job.lost >= MAX_ATTEMPTS else []:
                self._record((job, name), Failure(type(error).__name__, str(error)[:1000]), None)


def check_query(seat: Seat) -> None:
    """Check the query of an evaluator that is one.

    Raises: ConfigError naming the evaluator whose query cannot be used.
    """
    fault = _fault(_query(seat).sql) if seat.is_query else ""
    if fault:
        raise ConfigError(f"evaluators.{seat.name}: config.sql: this query cannot be used: {fault}")


def _judged(db: Database, seat: Seat, targets: Sequence[Target]) -> dict[Target, Outcome]:
    """Return what the query says of each target; one that was allowed once may be so no more."""
    query = _query(seat)
    fault = _fault(query.sql)
    if fault:
        return dict.fromkeys(targets, Failure("SqlFailed", f"the query cannot be used: {fault}"))
    return judge(db, query, targets, seat.timeout_s)


def _query(seat: Seat) -> Sql:
    return Sql.model_validate(dict(seat.config))


@lru_cache(maxsize=KNOWN_QUERIES)
def _fault(sql: str) -> str:
    """Return why the query cannot be used, "" if it can."""
    try:
        check_judging(Sql(sql=sql))
    except SqlRefused as error:
        return str(error)
    return ""
