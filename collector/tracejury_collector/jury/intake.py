"""New jobs for the jury, read from the database page by page."""

from __future__ import annotations

from collections.abc import Mapping

from tracejury.result import Outcome, Skip
from tracejury_collector.jury.jobs import Job, Pair
from tracejury_collector.jury.roster import Seat
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
    """Where in the order of jobs the reading stands."""

    def __init__(self, db: Database, roster: Mapping[str, Seat]) -> None:
        self._db = db
        self._roster = roster
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
            seat = self._roster.get(name)
            if seat is None or seat.identity != identity:
                seat = _former(name, seat.type if seat else "", identity)
                clear[name] = Skip(f"the evaluator {name!r} was changed before it could judge this")
            job.pairs[name] = pair = Pair(seat=seat, failed=made, noted=made)
            if name not in clear and pair.is_abandoned:
                clear[name] = pair.abandoned()
        return job, clear


def _former(name: str, type_name: str, identity: str) -> Seat:
    """Return what is known of an evaluator that is no longer configured like this."""
    fingerprint, _, criteria_hash = identity.partition("+")
    return Seat(
        name=name, type=type_name, config={}, fingerprint=fingerprint, criteria_hash=criteria_hash
    )
