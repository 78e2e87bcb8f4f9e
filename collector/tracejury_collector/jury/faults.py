"""Who is to blame when a jury process dies, and whose attempts do not count."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable

from tracejury.result import Outcome
from tracejury_collector.errors import Unavailable
from tracejury_collector.jury.jobs import MAX_LOSSES, Job
from tracejury_collector.jury.juror import Entry, Juror
from tracejury_collector.store.database import Database
from tracejury_collector.store.ledger import AttemptsVoid

log = logging.getLogger(__name__)

Record = Callable[[Entry, Outcome, float | None], None]


class Faults:
    """Counts attempts that ended without an outcome; gives up pairs that had too many."""

    def __init__(self, db: Database, record: Record) -> None:
        self._db = db
        self._record = record

    def of_lost(self, juror: Juror) -> list[Job]:
        """Settle what a process leaves behind; return the jobs that have to wait again.

        The evaluators that ran when it died are to blame: one, or any of those side by side.
        """
        running = juror.take_running()
        entries = [*juror.unanswered(), *running]
        if entries:
            juror.kill()
        jobs = jobs_of(entries)
        if juror.is_leaving:
            self.blame_repeaters(jobs_of(running))
            self.void(jobs)
        elif running:
            for job, name in running:
                self.blame(job, name)
        else:
            self.blame_repeaters(jobs)
        return [job for job in jobs if job.pairs]

    def of_ended(self, juror: Juror) -> list[Job]:
        """The same for a process that was ended because of what is answered by now.

        Others that it ran beside that are not to blame.
        """
        jobs = jobs_of([*juror.unanswered(), *juror.take_running()])
        if juror.lane == "waiting":
            self.void(jobs)
        return [job for job in jobs if job.pairs]

    def void(self, jobs: Iterable[Job]) -> None:
        """Let attempts that were cut short through nobody's fault not count."""
        attempts = [attempt for job in jobs for attempt in job.voided()]
        if attempts:
            with contextlib.suppress(Unavailable):
                self._db.write(AttemptsVoid(attempts))

    def blame_repeaters(self, jobs: Iterable[Job]) -> None:
        """Blame jobs that were there whenever something failed while no evaluator ran."""
        for job in jobs:
            job.lost += 1
            if job.lost > MAX_LOSSES:
                for name in list(job.pairs):
                    self.blame(job, name)

    def blame(self, job: Job, name: str) -> None:
        """Count an attempt that ended with the process."""
        pair = job.pairs[name]
        pair.failed += 1
        log.warning("the jury process died while running evaluator %r", name)
        if pair.is_abandoned:
            self._record((job, name), pair.abandoned(), None)


def jobs_of(entries: Iterable[Entry]) -> list[Job]:
    """Return the jobs of these runs, once each, that still owe something."""
    jobs = {id(job): job for job, _ in entries}
    return [job for job in jobs.values() if job.pairs]
