"""Budgets: what rules, and all of them together, may spend on judging in a day (UTC).

A judgement is admitted when what was spent, what those in flight are expected to take and what it
is expected to take itself fit into the budget. Near its end one runs at a time, so that a budget
is overdrawn by one judgement at most.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tracejury.result import Spent
from tracejury_collector.config import Budget
from tracejury_collector.store.database import Database
from tracejury_collector.store.spending import spent_since

DAY_NS = 86_400 * 1_000_000_000
UNTOLD = Spent()
"""What a judgement took whose endpoint does not tell."""
OVERALL = ""
"""The account that every judgement is charged to; each rule has one of its own besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Money and tokens."""

    usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(usd=self.usd + other.usd, tokens=self.tokens + other.tokens)

    def at_least(self, other: Amount) -> Amount:
        """Return the greater of both, unit by unit."""
        return Amount(usd=max(self.usd, other.usd), tokens=max(self.tokens, other.tokens))


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A judgement that may begin; it is settled when it has ended."""

    rule: str
    identity: str
    number: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A judgement that may not begin today."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """A judgement that can only be admitted or refused once one in flight has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """An account and its limits; `rule` is "" for all rules together."""

    rule: str
    spent: Amount
    limit: Budget
    has_unpriced: bool


@dataclass(slots=True)
class _Account:
    """What one rule, or all, have spent today and have in flight; None is an unknown amount."""

    spent: Amount = field(default_factory=Amount)
    unpriced: set[str] = field(default_factory=set)
    untold: set[str] = field(default_factory=set)
    in_flight: dict[int, Amount | None] = field(default_factory=dict)


class Budgets:
    """The accounts of the present day; what was spent before a restart is read from the results.

    `limits` gives the budgets in force: those of rules by name, and that of all under `OVERALL`.
    """

    def __init__(
        self, db: Database, limits: Callable[[], Mapping[str, Budget]], now_ns: Callable[[], int]
    ) -> None:
        """Read what was spent today.

        Raises: Unavailable or duckdb.Error when the database cannot be read now.
        """
        self._limits = limits
        self._now_ns = now_ns
        self._lock = threading.Lock()
        self._day = now_ns() // DAY_NS
        self._accounts: defaultdict[str, _Account] = defaultdict(_Account)
        self._most: dict[str, Amount] = {}
        self._number = 0
        for row in spent_since(db, self._day * DAY_NS):
            spent = Amount(usd=row.usd, tokens=row.tokens)
            most = Amount(usd=row.most_usd, tokens=row.most_tokens)
            self._charge(row.rule, row.identity, spent, most, is_unpriced=row.has_unpriced)

    def refusal(self, rule: str) -> str:
        """Say why nothing that costs may begin under this rule today; "" if it may."""
        with self._lock:
            self._turn_the_day()
            return next(self._refusals(rule, None), "")

    def admit(self, rule: str, identity: str) -> Admitted | Refused | Wait:
        """Decide whether a judgement by this evaluator may begin now, and reserve what it takes."""
        with self._lock:
            self._turn_the_day()
            reason = next(self._refusals(rule, identity), "")
            if reason:
                return Refused(reason)
            expected = self._most.get(identity)
            if not all(self._has_room(name, expected) for name in _accounts_of(rule)):
                return Wait()
            self._number += 1
            for name in _accounts_of(rule):
                self._accounts[name].in_flight[self._number] = expected
            return Admitted(rule=rule, identity=identity, number=self._number)

    def settle(self, admitted: Admitted, spent: Spent | None) -> None:
        """Charge what a judgement took; None where it ended without saying, as when killed.

        What was asked of a model and not answered for is charged as expected; an evaluator whose
        first judgement is not told the price of is refused from then on.
        """
        with self._lock:
            self._turn_the_day()
            reserved = None
            for name in _accounts_of(admitted.rule):
                reserved = self._accounts[name].in_flight.pop(admitted.number, None)
            if spent is None or spent == UNTOLD:
                self._charge(admitted.rule, admitted.identity, reserved or Amount(), Amount())
                if spent is not None and reserved is None:
                    self._distrust(admitted)
                return
            taken = Amount(
                usd=spent.usd or 0.0, tokens=(spent.input_tokens or 0) + (spent.output_tokens or 0)
            )
            unpriced = spent.usd is None and taken.tokens > 0
            self._charge(admitted.rule, admitted.identity, taken, taken, is_unpriced=unpriced)

    def states(self) -> list[BudgetState]:
        """Return the accounts that have a limit, that of all rules first."""
        with self._lock:
            self._turn_the_day()
            return [
                BudgetState(
                    rule=name,
                    spent=self._accounts[name].spent,
                    limit=limit,
                    has_unpriced=bool(self._accounts[name].unpriced),
                )
                for name, limit in sorted(self._limits().items())
            ]

    def _turn_the_day(self) -> None:
        """Begin a new day with nothing spent; what is in flight is charged to the day it ends."""
        day = self._now_ns() // DAY_NS
        if day > self._day:
            self._day = day
            for account in self._accounts.values():
                account.spent = Amount()
                account.unpriced.clear()
                account.untold.clear()

    def _distrust(self, admitted: Admitted) -> None:
        for name in _accounts_of(admitted.rule):
            self._accounts[name].untold.add(admitted.identity)

    def _charge(
        self, rule: str, identity: str, spent: Amount, most: Amount, *, is_unpriced: bool = False
    ) -> None:
        if most != Amount():
            self._most[identity] = self._most.get(identity, Amount()).at_least(most)
        for name in _accounts_of(rule):
            account = self._accounts[name]
            account.spent += spent
            if is_unpriced:
                account.unpriced.add(identity)

    def _refusals(self, rule: str, identity: str | None) -> Iterator[str]:
        limits = self._limits()
        for name in _accounts_of(rule):
            limit, account = limits.get(name), self._accounts[name]
            if limit is None:
                continue
            whose = f"of rule {name!r}" if name else "of all rules"
            if limit.usd_per_day is not None and account.spent.usd >= limit.usd_per_day:
                yield (
                    f"the budget {whose} is used up: {account.spent.usd:.4g} of "
                    f"{limit.usd_per_day:g} USD a day (UTC)"
                )
            if limit.tokens_per_day is not None and account.spent.tokens >= limit.tokens_per_day:
                yield (
                    f"the budget {whose} is used up: {account.spent.tokens} of "
                    f"{limit.tokens_per_day} tokens a day (UTC)"
                )
            if identity in account.untold:
                yield (
                    f"the endpoint of this judge does not tell what it takes, so the budget "
                    f"{whose} cannot be kept; use one that tells, or a rule without a budget"
                )
            if limit.usd_per_day is not None and identity in account.unpriced:
                yield (
                    f"the price of this judge is unknown, so the budget {whose} in USD cannot be "
                    "kept; set budget.tokens_per_day instead"
                )

    def _has_room(self, name: str, expected: Amount | None) -> bool:
        """Say whether one more fits in; the last one may overdraw, if it is alone."""
        limit, account = self._limits().get(name), self._accounts[name]
        if limit is None or not account.in_flight:
            return True
        parts = [*account.in_flight.values(), expected]
        if any(part is None for part in parts):
            return False
        return _within(limit, account.spent + _sum(part for part in parts if part))


def _accounts_of(rule: str) -> tuple[str, ...]:
    return (OVERALL, rule) if rule else (OVERALL,)


def _sum(amounts: Iterable[Amount]) -> Amount:
    return sum(amounts, start=Amount())


def _within(limit: Budget, amount: Amount) -> bool:
    usd, tokens = limit.usd_per_day, limit.tokens_per_day
    return (usd is None or amount.usd <= usd) and (tokens is None or amount.tokens <= tokens)
