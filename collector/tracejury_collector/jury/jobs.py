"""A job in memory: which evaluators still owe a result, and how often each was tried."""

from __future__ import annotations

from dataclasses import dataclass, field

from tracejury.result import Failure
from tracejury_collector.jury.roster import Seat
from tracejury_collector.store.ledger import Attempt, PendingJob

MAX_ATTEMPTS = 3
MAX_LOSSES = 10


@dataclass(slots=True)
class Pair:
    """An evaluator that owes a result to a job.

    `failed` counts the attempts that ended without an outcome, `noted` is the number of the last
    attempt in the ledger: one that ended through no fault of its own is not counted again.
    """

    seat: Seat
    failed: int = 0
    noted: int = 0

    @property
    def is_abandoned(self) -> bool:
        """Whether it was tried often enough."""
        return self.failed >= MAX_ATTEMPTS

    def abandoned(self) -> Failure:
        """Return the outcome of a pair that was tried often enough."""
        message = (
            f"the jury process died in each of {self.failed} attempts to run {self.seat.name!r}"
        )
        return Failure(error_type="abandoned", message=message)


@dataclass(slots=True)
class Job:
    """A selected decision on its way through the jury; holds no trace.

    `lost` counts processes that died with it in hand while they ran no evaluator. `other` is the
    part of the same decision that goes another way.
    """

    pending: PendingJob
    lost: int = 0
    pairs: dict[str, Pair] = field(default_factory=dict)
    other: Job | None = field(default=None, repr=False)

    @property
    def owes(self) -> bool:
        """Whether any evaluator of the decision still owes a result."""
        return bool(self.pairs or (self.other and self.other.pairs))

    @property
    def is_for_queries(self) -> bool:
        """Whether the store judges it, not the jury's processes."""
        return any(pair.seat.is_query for pair in self.pairs.values())

    def parted(self) -> list[Job]:
        """Return the parts that owe something: for the jury's processes, for the store."""
        queries = {name: pair for name, pair in self.pairs.items() if pair.seat.is_query}
        if queries and len(queries) < len(self.pairs):
            self.other = Job(pending=self.pending, pairs=queries, other=self)
            self.pairs = {name: self.pairs[name] for name in self.pairs if name not in queries}
            return [self, self.other]
        return [self] if self.pairs else []

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
