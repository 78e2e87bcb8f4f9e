"""Results on their way into the database, many in one write."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace

import duckdb

from tracejury.result import Failure, Outcome
from tracejury_collector import failpoints
from tracejury_collector.errors import Unavailable
from tracejury_collector.jury.jobs import Job
from tracejury_collector.store.database import Database
from tracejury_collector.store.results import Result, ResultsWrite

log = logging.getLogger(__name__)

GATHER_S = 0.1
"""Writes are at least this far apart: a busy jury fills them, a quiet one does not wait."""

_RETRY_S = 0.5
_LAST_WRITE_S = 2.0

Written = Callable[[], None]

UNSTORABLE = "UnusableOutcome"


class Recorder:
    """Writes results in the order they came; a database that is away only delays them."""

    def __init__(self, db: Database, now_ns: Callable[[], int]) -> None:
        self._db = db
        self._now_ns = now_ns
        self._waiting: list[tuple[Result, Written | None]] = []
        self._wake = asyncio.Event()
        self._urgent = asyncio.Event()
        self._stop = asyncio.Event()

    def record(
        self,
        job: Job,
        evaluator: str,
        outcome: Outcome,
        duration_ms: float | None,
        written: Written | None = None,
    ) -> None:
        """Take the outcome that an evaluator owed to a job; `written` is told once it is kept.

        Who waits to be told is not kept waiting for others.
        """
        pair = job.pairs.pop(evaluator)
        result = Result(
            job=job.pending,
            evaluator=evaluator,
            type=pair.seat.type,
            fingerprint=pair.seat.fingerprint,
            criteria_hash=pair.seat.criteria_hash,
            outcome=outcome,
            duration_ms=duration_ms,
            created_at_ns=self._now_ns(),
        )
        self._waiting.append((result, written))
        self._wake.set()
        if written:
            self._urgent.set()

    async def run(self) -> None:
        """Write until stopped and empty."""
        while self._waiting or not self._stop.is_set():
            await self._wake.wait()
            self._wake.clear()
            self._urgent.clear()
            taken, self._waiting = self._waiting, []
            if taken and not await self._write([result for result, _ in taken]):
                self._waiting = taken + self._waiting
                self._wake.set()
                await asyncio.sleep(_RETRY_S)
            else:
                for _, written in taken:
                    if written:
                        written()
            if self._stop.is_set():
                self._wake.set()
            else:
                await self._gather()

    async def _gather(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._urgent.wait(), GATHER_S)

    async def stop(self, recording: asyncio.Task[None]) -> None:
        """Let `recording`, the task that runs this, write what is in; give up if it cannot."""
        self._stop.set()
        self._wake.set()
        self._urgent.set()
        await asyncio.wait([recording], timeout=_LAST_WRITE_S)
        recording.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await recording

    async def _write(self, results: list[Result]) -> bool:
        try:
            write = await asyncio.to_thread(ResultsWrite, results)
            await asyncio.wrap_future(self._db.write(write))
            failpoints.reach("store.recorded")
        except (Unavailable, duckdb.Error, OSError) as error:
            log.warning("%d results cannot be written now: %s", len(results), error)
            return False
        except Exception as error:
            log.exception("%d results cannot be written", len(results))
            return await self._write_apart(results, error)
        return True

    async def _write_apart(self, results: list[Result], error: Exception) -> bool:
        """Write results one by one; the one that is to blame becomes a failure."""
        if len(results) > 1:
            return all([await self._write([result]) for result in results])
        message = f"the outcome cannot be stored: {type(error).__name__}: {error}"[:1000]
        if isinstance(results[0].outcome, Failure) and results[0].outcome.error_type == UNSTORABLE:
            return True
        failure = Failure(error_type=UNSTORABLE, message=message)
        return await self._write([replace(results[0], outcome=failure)])
