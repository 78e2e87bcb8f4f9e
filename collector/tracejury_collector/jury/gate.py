"""What a run that asks others must pass before it begins: endpoints, their limits, the budgets."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from tracejury.result import Failure, Outcome, Score, Skip, Spent
from tracejury_collector.config import JudgeSettings
from tracejury_collector.jury.budgets import UNTOLD, Admitted, Budgets, Refused, Wait
from tracejury_collector.jury.jobs import Job, Pair
from tracejury_collector.jury.places import OUTAGES, Place, Places

N = TypeVar("N", int, float)

FREE = Spent(usd=0.0, input_tokens=0, output_tokens=0)
UNCHARGED = frozenset(
    {
        "JudgeUnavailable",
        "JudgeUnreachable",
        "JudgeUnauthorized",
        "JudgeRejected",
        "JudgeRedirected",
    }
)
"""Failures of calls that nobody charges for."""
UNANSWERED = frozenset({"JudgeTimeout", "timeout"})
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A run may not begin yet; `is_outage` if that is because an endpoint keeps failing."""

    reason: str
    is_outage: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A run that was let in."""

    places: tuple[Place, ...]
    reserved_tokens: tuple[float, ...]
    admitted: Admitted | None


class Gate:
    """Lets runs in one by one, and hears what came of each."""

    def __init__(
        self,
        settings: JudgeSettings,
        budgets: Budgets | None,
        now_ns: Callable[[], int],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._budgets = budgets
        self._now_ns = now_ns
        self._now_s = now_s
        self._places = Places(settings)
        self._inside: dict[int, Ticket] = {}
        self.repeats: Counter[str] = Counter()
        """How often runs were tried again because of their endpoint, by evaluator."""

    def places(self) -> list[tuple[Place, str]]:
        """Return the places that were asked, and the states of their breakers."""
        now_s = self._now_s()
        return [(place, place.breaker.state(now_s)) for place in self._places.all()]

    def enter(self, job: Job) -> Ticket | Hold | Outcome:
        """Let a run in, or say why not now, or give the outcome if it will never be let in."""
        ((_, pair),) = job.pairs.items()
        now_s = self._now_s()
        places = tuple(self._places.of(pair.seat.asked, now_s))
        for place in places:
            if reason := place.hold(now_s):
                return self._held(job, place, reason)
        admitted = self._admit(job, pair)
        if isinstance(admitted, (Hold, Skip)):
            return admitted
        calls = {asked.place: asked.calls for asked in pair.seat.asked}
        for place in places:
            place.begin(calls[place.asked.place], now_s)
        tokens = tuple(place.usual_tokens for place in places)
        ticket = Ticket(places=places, reserved_tokens=tokens, admitted=admitted)
        self._inside[id(job)] = ticket
        return ticket

    def leave(self, job: Job, outcome: Outcome | None, *, was_sent: bool = True) -> None:
        """Hear what came of a run; None if nothing did, `was_sent` says if it has begun at all."""
        ticket = self._inside.pop(id(job), None)
        if ticket is None:
            return
        now_s = self._now_s()
        for place, reserved in zip(ticket.places, ticket.reserved_tokens, strict=True):
            place.end(reserved, outcome, now_s, alone=len(ticket.places) == 1)
        if ticket.admitted and self._budgets:
            self._budgets.settle(ticket.admitted, _charged(outcome) if was_sent else FREE)

    def repeat_in_s(self, job: Job, pair: Pair, outcome: Outcome) -> float | None:
        """Return after what time a run is to be tried again, None if its outcome stands.

        Asked after `leave`. While an endpoint is out, what it did to single runs does not count.
        """
        if not isinstance(outcome, Failure) or outcome.error_type not in OUTAGES:
            return None
        places = self._places.of(pair.seat.asked, self._now_s())
        if len(places) != 1:
            return None
        (place,) = places
        pair.spent = outcome.spent if pair.spent is None else total(pair.spent, outcome.spent)
        costs_too_much = pair.spent is not None and (
            (pair.spent.usd or 0.0) > self._settings.retry_usd
        )
        pair.tries += 0 if place.breaker.is_open else 1
        if costs_too_much or pair.tries >= self._settings.tries or self._is_old(job, place):
            return None
        self.repeats[pair.seat.name] += 1
        if place.breaker.is_open:
            return 0.0
        return min(FIRST_PAUSE_S * 2.0 ** (pair.tries - 1), LONGEST_PAUSE_S)

    def _held(self, job: Job, place: Place, reason: str) -> Hold | Failure:
        is_outage = place.breaker.is_open
        if is_outage and self._is_old(job, place):
            return Failure(
                place.breaker.said.partition(":")[0],
                f"given up after {self._settings.patience:g} s: {reason}"[:1000],
            )
        return Hold(reason=reason, is_outage=is_outage)

    def _is_old(self, job: Job, place: Place) -> bool:
        """Whether a run has waited long enough for an endpoint that keeps failing."""
        failing_s = self._now_s() - place.breaker.failing_since_s
        waited_s = (self._now_ns() - job.pending.decided_at_ns) / 1e9
        return min(failing_s, waited_s) > self._settings.patience

    def _admit(self, job: Job, pair: Pair) -> Admitted | Hold | Skip | None:
        if self._budgets is None or not any(asked.model for asked in pair.seat.asked):
            return None
        admitted = self._budgets.admit(job.pending.rule, pair.seat.identity)
        if isinstance(admitted, Refused):
            return Skip(admitted.reason, {"refused": "budget"})
        if isinstance(admitted, Wait):
            return Hold(
                reason="the budget has room for one judgement at a time, and one is running"
            )
        return admitted


def with_spent(outcome: Outcome, before: Spent | None) -> Outcome:
    """Return the outcome with what earlier tries took, too."""
    return outcome if before is None else replace(outcome, spent=total(before, outcome.spent))


def _charged(outcome: Outcome | None) -> Spent | None:
    """What a run took: None where it ended without saying, `UNTOLD` where nobody told it."""
    if outcome is None:
        return None
    if outcome.spent is None:
        return FREE if isinstance(outcome, (Score, Skip)) else None
    if isinstance(outcome, Failure) and outcome.spent == UNTOLD:
        if outcome.error_type in UNCHARGED:
            return FREE
        if outcome.error_type in UNANSWERED:
            return None
    return outcome.spent


def total(first: Spent, second: Spent | None) -> Spent:
    """Return what two tries took together."""
    if second is None:
        return first
    return Spent(
        usd=_plus(first.usd, second.usd),
        input_tokens=_plus(first.input_tokens, second.input_tokens),
        output_tokens=_plus(first.output_tokens, second.output_tokens),
    )


def _plus(first: N | None, second: N | None) -> N | None:
    """The sum; an amount that is unknown is nothing beside one that is known."""
    if first is None or second is None:
        return second if first is None else first
    return first + second
