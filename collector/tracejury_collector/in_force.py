"""The rules and evaluators in force: a snapshot that is replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracejury_collector.conditions import Conditions
from tracejury_collector.config import Budget, Config
from tracejury_collector.jury.budgets import OVERALL
from tracejury_collector.jury.roster import Seat
from tracejury_collector.rules import Rule, compile_rules


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """Rules, their checked conditions, and the named evaluators, as of one moment."""

    rules: tuple[Rule, ...]
    conditions: Conditions
    seats: Mapping[str, Seat]


def from_config(config: Config, seats: Mapping[str, Seat]) -> InForce:
    """Return what the configuration puts in force.

    Raises: ConfigError naming the rule that cannot be used.
    """
    rules = compile_rules(config, {name: seat.identity for name, seat in seats.items()})
    return InForce(rules=rules, conditions=Conditions(rules), seats=seats)


def budgets_of(overall: Budget, rules: Iterable[Rule]) -> dict[str, Budget]:
    """Return the budgets that have a limit, by account."""
    named = {OVERALL: overall, **{rule.name: rule.budget for rule in rules}}
    return {name: budget for name, budget in named.items() if budget.is_set}
