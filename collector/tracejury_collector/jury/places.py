"""The endpoints that evaluators ask: whether each may be asked now, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tracejury.result import Failure, Outcome, Spent
from tracejury_collector.config import JudgeSettings
from tracejury_collector.jury.breaker import Breaker, BreakerPolicy
from tracejury_collector.jury.rates import Rate
from tracejury_evaluators.endpoint import Asked

OUTAGES = frozenset(
    {
        "JudgeUnavailable",
        "JudgeUnreachable",
        "JudgeTimeout",
        "JudgeUnauthorized",
        "WebhookUnavailable",
        "timeout",
    }
)
"""Failures that say something of the endpoint and nothing of the run that was to be judged."""
MAX_SAID_CHARS = 300


@dataclass(slots=True)
class Place:
    """One endpoint, or one model at it."""

    asked: Asked
    breaker: Breaker
    requests: Rate | None
    tokens: Rate | None
    errors: Counter[str] = field(default_factory=Counter)
    usual_tokens: float = 0.0

    def hold(self, now_s: float) -> str:
        """Say why it may not be asked now; "" if it may."""
        if not self.breaker.may_ask(now_s):
            return self._outage(now_s)
        for rate, what in ((self.requests, "requests"), (self.tokens, "tokens")):
            wait_s = rate.wait_s(now_s) if rate else 0.0
            if wait_s:
                return (
                    f"the limit of {what} a minute to {self.asked.place} is reached; "
                    f"there is room in {wait_s:.0f} s"
                )
        return ""

    def _outage(self, now_s: float) -> str:
        breaker = self.breaker
        wait_s = breaker.wait_s(now_s)
        then = f"it is asked again in {wait_s:.0f} s" if wait_s else "one judgement tries it now"
        return (
            f"{self.asked.place} has failed {breaker.failures} times in a row "
            f"({breaker.said}); {then}"
        )

    def begin(self, calls: int, now_s: float) -> None:
        """Note that a run begins that makes so many calls."""
        self.breaker.asks()
        if self.requests:
            self.requests.take(calls, now_s)
        if self.tokens:
            self.tokens.take(self.usual_tokens, now_s)

    def end(
        self, reserved_tokens: float, outcome: Outcome | None, now_s: float, *, alone: bool = True
    ) -> None:
        """Note what came of a run; None if nothing did.

        One that asked several places, not this `alone`, does not tell which of them failed.
        """
        spent = outcome.spent if outcome is not None else None
        if self.tokens and outcome is not None:
            taken = _tokens(spent)
            self.tokens.take(taken - reserved_tokens, now_s)
            self.usual_tokens += 0.2 * (taken - self.usual_tokens) if self.usual_tokens else taken
        if not alone:
            self.breaker.ended()
        elif isinstance(outcome, Failure) and outcome.error_type in OUTAGES:
            self.errors[outcome.error_type] += 1
            said = f"{outcome.error_type}: {outcome.message}"[:MAX_SAID_CHARS]
            self.breaker.failed(now_s, said)
        elif outcome is not None and (spent is not None or not self.asked.model):
            self.breaker.succeeded()
        else:
            self.breaker.ended()


class Places:
    """The places that were asked since the start; as many as evaluators name."""

    def __init__(self, settings: JudgeSettings) -> None:
        self._settings = settings
        self._places: dict[Asked, Place] = {}

    def all(self) -> list[Place]:
        """Return the places that were asked, in the order in which that was first."""
        return list(self._places.values())

    def of(self, asked: Iterable[Asked], now_s: float) -> list[Place]:
        """Return the places that an evaluator asks."""
        keys = dict.fromkeys(Asked(model=a.model, url=a.url, key=a.key) for a in asked)
        return [self._place(key, now_s) for key in keys]

    def _place(self, key: Asked, now_s: float) -> Place:
        if key not in self._places:
            settings = self._settings
            limits = settings.limits_of(key.model)
            policy = BreakerPolicy(
                open_after=settings.open_after,
                pause_s=settings.pause,
                longest_pause_s=max(settings.pause, settings.longest_pause),
            )
            self._places[key] = Place(
                asked=key,
                breaker=Breaker(policy),
                requests=_rate(limits.requests_per_minute, now_s),
                tokens=_rate(limits.tokens_per_minute, now_s),
            )
        return self._places[key]


def _rate(per_minute: int | None, now_s: float) -> Rate | None:
    return None if per_minute is None else Rate(per_minute, now_s)


def _tokens(spent: Spent | None) -> int:
    if spent is None:
        return 0
    return (spent.input_tokens or 0) + (spent.output_tokens or 0)
