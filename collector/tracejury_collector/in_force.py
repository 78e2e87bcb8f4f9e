"""The rules and evaluators in force: a snapshot that is replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracejury_collector.conditions import Conditions
from tracejury_collector.config import Budget, Config, RuleSpec
from tracejury_collector.errors import ConfigError
from tracejury_collector.jury.budgets import OVERALL, Budgets
from tracejury_collector.jury.roster import Seat
from tracejury_collector.rules import Rule, TargetKind, compile_rules


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """Rules, as they were written too, their checked conditions, and the named evaluators.

    All of one moment.
    """

    rules: tuple[Rule, ...]
    conditions: Conditions
    seats: Mapping[str, Seat]
    specs: Mapping[str, RuleSpec]

    def rules_on(self, target: TargetKind) -> list[Rule]:
        """Return the rules that judge such targets."""
        return [rule for rule in self.rules if rule.target == target]

    def asks(self, rule_name: str) -> bool:
        """Return whether a rule holds an evaluator that asks a model, which costs."""
        rules = (rule for rule in self.rules if rule.name == rule_name)
        return any(self.seats[e.name].asked for rule in rules for e in rule.evaluators)


def from_config(config: Config, seats: Mapping[str, Seat]) -> InForce:
    """Return what the configuration puts in force.

    Raises: ConfigError naming the rule that cannot be used.
    """
    rules = compile_rules(config, {name: seat.identity for name, seat in seats.items()})
    refuse_queries(rules, seats)
    return InForce(
        rules=rules,
        conditions=Conditions(rules),
        seats=seats,
        specs={rule.name: config.effective_rules()[rule.name] for rule in rules},
    )


def refuse_queries(rules: Iterable[Rule], seats: Mapping[str, Seat]) -> None:
    """Raise ConfigError where a rule has sessions judged by a query, which is about traces."""
    for rule in rules:
        queries = [e.name for e in rule.evaluators if seats[e.name].is_query]
        if rule.target == "session" and queries:
            raise ConfigError(
                f"rules.{rule.name}.evaluators: {queries[0]!r} is a query about traces and cannot "
                "judge sessions; use it in a rule with target trace"
            )


def budget_refusal(budgets: Budgets, in_force: InForce, rule_name: str) -> str:
    """Say why a rule may select nothing more today; "" for one that costs nothing, too."""
    return budgets.refusal(rule_name) if in_force.asks(rule_name) else ""


def budgets_of(overall: Budget, rules: Iterable[Rule]) -> dict[str, Budget]:
    """Return the budgets that have a limit, by account."""
    named = {OVERALL: overall, **{rule.name: rule.budget for rule in rules}}
    return {name: budget for name, budget in named.items() if budget.is_set}
