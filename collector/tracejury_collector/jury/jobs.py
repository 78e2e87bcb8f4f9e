"""A job in memory: which evaluators still owe a result, and how often each was tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tracejury.result import Failure, Spent
from tracejury_collector.jury.roster import LaneName, Seat
from tracejury_collector.store.ledger import Attempt, PendingJob

MAX_ATTEMPTS = 3
MAX_LOSSES = 10

LineKey = tuple[LaneName, str]
"""A line of jobs: its lane, and what is asked there; "" where nothing is, or nobody says what."""


@dataclass(slots=True)
class Pair:
    """An evaluator that owes a result to a job.

    `failed` counts the attempts that ended without an outcome, `noted` is the number of the last
    attempt in the ledger: one that ended through no fault of its own is not counted again. `tries`
    counts those that an endpoint failed, and `spent` is what they took.
    """

    seat: Seat
    failed: int = 0
    noted: int = 0
    tries: int = 0
    spent: Spent | None = None

    @property
    def is_abandoned(self) -> bool:
        """Whether it was tried often enough."""
        return self.failed >= MAX_ATTEMPTS

    @property
    def is_suspect(self) -> bool:
        """Whether the next attempt is the last: it shall harm, and be harmed by, no other."""
        return self.failed == MAX_ATTEMPTS - 1

    def abandoned(self) -> Failure:
        """Return the outcome of a pair that was tried often enough."""
        message = (
            f"the jury process died in each of {self.failed} attempts to run {self.seat.name!r}"
        )
        return Failure(error_type="abandoned", message=message)


@dataclass(slots=True)
class Job:
    """What a selected decision asks of one line of the jury; holds no trace.

    `lost` counts processes that died with it in hand while they ran no evaluator; `is_sent` says
    whether a process has it.
    """

    pending: PendingJob
    lost: int = 0
    pairs: dict[str, Pair] = field(default_factory=dict)
    is_sent: bool = False

    @property
    def is_of_run(self) -> bool:
        """Whether it was asked for, and gives way to live ones."""
        return bool(self.pending.run_id)

    def parts(self) -> Iterator[tuple[LineKey, Job]]:
        """Yield what each line is to judge; of those who wait, each evaluator by itself."""
        quick = {name: p for name, p in self.pairs.items() if p.seat.lane == "quick"}
        queries = {name: p for name, p in self.pairs.items() if p.seat.lane == "query"}
        if quick:
            yield QUICK, Job(pending=self.pending, pairs=quick)
        if queries:
            yield QUERY, Job(pending=self.pending, pairs=queries)
        for name, pair in self.pairs.items():
            if pair.seat.lane == "waiting":
                yield line_key(pair.seat), Job(pending=self.pending, pairs={name: pair})

    def attempts(self, now_ns: int) -> list[Attempt]:
        """Return the attempts that are about to begin and are not in the ledger yet."""
        found = []
        for name, pair in self.pairs.items():
            if pair.noted > pair.failed:
                continue
            pair.noted = pair.failed + 1
            found.append(self._attempt(name, max(now_ns, self.pending.decided_at_ns)))
        return found

    def voided(self) -> list[Attempt]:
        """Return the attempts in the ledger that have begun and shall not count after all."""
        found = []
        for name, pair in self.pairs.items():
            if pair.noted > pair.failed:
                found.append(self._attempt(name, self.pending.decided_at_ns))
                pair.noted = pair.failed
        return found

    def _attempt(self, name: str, started_at_ns: int) -> Attempt:
        pair = self.pairs[name]
        return Attempt(
            decision_id=self.pending.decision_id,
            evaluator=name,
            fingerprint=pair.seat.fingerprint,
            n=pair.noted,
            started_at_ns=started_at_ns,
        )


QUICK: LineKey = ("quick", "")
QUERY: LineKey = ("query", "")


def line_key(seat: Seat) -> LineKey:
    """Return the line of an evaluator: those that ask the same place share one."""
    places = sorted({asked.place for asked in seat.asked}) if seat.lane == "waiting" else ()
    return seat.lane, " and ".join(places)
