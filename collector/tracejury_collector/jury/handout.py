"""Handing jobs to jury processes: their attempts noted, their traces fetched."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

import duckdb

from tracejury_collector.errors import TooLarge, Unavailable
from tracejury_collector.jury.faults import Faults
from tracejury_collector.jury.jobs import Job
from tracejury_collector.jury.juror import Juror
from tracejury_collector.jury.traces import TraceSource
from tracejury_collector.store.database import Database
from tracejury_collector.store.ledger import AttemptsWrite

log = logging.getLogger(__name__)

ORDER_BYTES = 8 << 20
_RETRY_S = 0.5

PutBack = Callable[[Iterable[Job]], None]


class HandOut:
    """Gives jobs to processes that were promised to them; what cannot be given waits again."""

    def __init__(
        self,
        db: Database,
        faults: Faults,
        put_back: PutBack,
        drop: PutBack,
        now_ns: Callable[[], int],
    ) -> None:
        self.traces = TraceSource(db)
        self._db = db
        self._faults = faults
        self._put_back = put_back
        self._drop = drop
        self._now_ns = now_ns

    async def give(self, juror: Juror, jobs: list[Job], promised: int) -> None:
        """Hand jobs over; those that cannot be handed over now wait again."""
        try:
            order = await self._prepare(jobs)
        except asyncio.CancelledError:
            self._faults.void(jobs)
            raise
        except (Unavailable, duckdb.Error, OSError, TooLarge) as error:
            log.warning("jobs cannot be handed out now: %s", error)
            await self._later(
                jobs, blame=isinstance(error, (duckdb.OutOfMemoryException, TooLarge))
            )
            return
        except Exception:
            log.exception("jobs cannot be handed out")
            await self._later(jobs, blame=True)
            return
        finally:
            juror.promised -= promised
        if not juror.gone:
            await juror.give(order)
            return
        if juror.is_leaving:
            self._faults.void(job for job, _ in order)
        self._put_back(job for job, _ in order)

    async def _later(self, jobs: list[Job], *, blame: bool) -> None:
        await asyncio.sleep(_RETRY_S)
        if blame:
            self._faults.blame_repeaters(jobs)
        self._put_back(job for job in jobs if job.pairs)

    async def _prepare(self, jobs: list[Job]) -> list[tuple[Job, bytes]]:
        """Note the attempts and return the jobs with their traces, without the superseded ones."""
        taken, traces = await asyncio.to_thread(self.traces.fetch, jobs, ORDER_BYTES)
        self._put_back(jobs[taken:])
        del jobs[taken:]
        write = AttemptsWrite(
            list(dict.fromkeys(job.pending.decision_id for job in jobs)),
            [attempt for job in jobs for attempt in job.attempts(self._now_ns())],
        )
        live = await asyncio.wrap_future(self._db.write(write))
        self._drop(job for job in jobs if job.pending.decision_id not in live)
        return [
            (job, traces[job.pending.trace_key]) for job in jobs if job.pending.decision_id in live
        ]
