"""New jobs for the jury, read from the database page by page."""

from __future__ import annotations

from collections.abc import Mapping

from tracejury.result import Outcome, Skip
from tracejury_collector.jury.jobs import Job, Pair
from tracejury_collector.jury.roster import Seat, SeatOf
from tracejury_collector.store.database import Database
from tracejury_collector.store.ledger import (
    PendingJob,
    done_before,
    last_decided_ns,
    pending_jobs,
)

Pairs = set[tuple[str, str]]
_START = (0, "")


class Intake:
    """Where in the order of jobs the reading stands.

    `seat_of` finds an evaluator by the identity with which it was selected, so that a job is judged
    by the version that its decision names.
    """

    def __init__(self, db: Database, seat_of: SeatOf) -> None:
        self._db = db
        self._seat_of = seat_of
        self._position = _START
        self._former_until_ns = 0

    def read(self, limit: int) -> tuple[int, list[tuple[Job, dict[str, Outcome]]]]:
        """Return (how many jobs were read, the jobs, each with outcomes that are clear already).

        Raises: Unavailable or duckdb.Error when the database cannot be read now.
        """
        with self._db.read() as cursor:
            if self._position == _START:
                self._former_until_ns = last_decided_ns(cursor)
            found = pending_jobs(cursor, self._position, limit)
            former = [job for job in found if job.decided_at_ns <= self._former_until_ns]
            judged, attempts = done_before(cursor, former)
        jobs = [self._job(pending, judged, attempts) for pending in found]
        if found:
            self._position = found[-1].position
        return len(found), jobs

    def _job(
        self, pending: PendingJob, judged: Pairs, attempts: Mapping[tuple[str, str], int]
    ) -> tuple[Job, dict[str, Outcome]]:
        job = Job(pending=pending)
        clear: dict[str, Outcome] = {}
        for name, identity in zip(pending.evaluators, pending.fingerprints, strict=True):
            key = (pending.decision_id, name)
            if key in judged:
                continue
            made = attempts.get(key, 0)
            seat = self._seat_of(identity)
            if seat is None:
                seat = _unknown(name, identity)
                clear[name] = Skip(f"the evaluator {name!r} was changed before it could judge this")
            job.pairs[name] = pair = Pair(seat=seat, failed=made, noted=made)
            if name not in clear and pair.is_abandoned:
                clear[name] = pair.abandoned()
        return job, clear


def _unknown(name: str, identity: str) -> Seat:
    """Return what the identity says of an evaluator that no definition describes any more."""
    fingerprint, _, criteria_hash = identity.partition("+")
    return Seat(name=name, type="", config={}, fingerprint=fingerprint, criteria_hash=criteria_hash)
