"""New jobs for the jury, read from the database page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tracejury.result import Outcome, Skip
from tracejury_collector.jury.jobs import Job, LineKey, Pair
from tracejury_collector.jury.lines import START, Position, Reading
from tracejury_collector.jury.roster import Seat, SeatOf
from tracejury_collector.store.database import Database
from tracejury_collector.store.ledger import (
    PendingJob,
    done_before,
    last_decided_ns,
    pending_jobs,
)

Pairs = set[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Jobs as they were read, each with the outcomes that are clear already."""

    jobs: list[tuple[LineKey, Job, dict[str, Outcome]]]
    end: Position
    is_full: bool


class Intake:
    """Reads jobs; those decided before the first reading may have been judged in part.

    `seat_of` finds an evaluator by the identity with which it was selected, so that a job is judged
    by the version that its decision names.
    """

    def __init__(self, db: Database, seat_of: SeatOf) -> None:
        self._db = db
        self._seat_of = seat_of
        self._former_until_ns: int | None = None

    def read(self, reading: Reading, is_for: Callable[[LineKey], bool], limit: int) -> Page:
        """Return the jobs of some lines.

        Raises: Unavailable or duckdb.Error when the database cannot be read now.
        """
        with self._db.read() as cursor:
            if self._former_until_ns is None:
                self._former_until_ns = last_decided_ns(cursor)
            found = pending_jobs(cursor, reading.after, limit, of_runs=reading.of_runs)
            former = [job for job in found if job.decided_at_ns <= self._former_until_ns]
            judged, attempts = done_before(cursor, former)
        owed = ((pending, self._owed(pending, judged, attempts)) for pending in found)
        jobs = [
            (key, part, _clear(part))
            for pending, pairs in owed
            for key, part in Job(pending=pending, pairs=pairs).parts()
            if is_for(key)
        ]
        end = found[-1].position if found else reading.after
        return Page(jobs=jobs, end=end, is_full=len(found) == limit)

    def read_all(self, limit: int) -> list[tuple[LineKey, Job, dict[str, Outcome]]]:
        """Return jobs of all lines, live ones and then those of runs, from the first one on."""
        readings = (Reading(of_runs=r, after=START, keys=frozenset()) for r in (False, True))
        return [job for r in readings for job in self.read(r, lambda _: True, limit).jobs]

    def _owed(
        self, pending: PendingJob, judged: Pairs, attempts: Mapping[tuple[str, str], int]
    ) -> dict[str, Pair]:
        pairs = {}
        for name, identity in zip(pending.evaluators, pending.fingerprints, strict=True):
            key = (pending.decision_id, name)
            if key not in judged:
                made = attempts.get(key, 0)
                seat = self._seat_of(identity) or _unknown(name, identity)
                pairs[name] = Pair(seat=seat, failed=made, noted=made)
        return pairs


def _clear(job: Job) -> dict[str, Outcome]:
    return dict(_clear_outcomes(job))


def _clear_outcomes(job: Job) -> Iterator[tuple[str, Outcome]]:
    for name, pair in job.pairs.items():
        if not pair.seat.type:
            yield name, Skip(f"the evaluator {name!r} was changed before it could judge this")
        elif pair.is_abandoned:
            yield name, pair.abandoned()


def _unknown(name: str, identity: str) -> Seat:
    """Return what the identity says of an evaluator that no definition describes any more."""
    fingerprint, _, criteria_hash = identity.partition("+")
    return Seat(name=name, type="", config={}, fingerprint=fingerprint, criteria_hash=criteria_hash)
