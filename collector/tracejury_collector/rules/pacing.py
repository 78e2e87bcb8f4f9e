"""Caps: a minute's rates are set by what the minute before would have taken, never by its sample.

So a chance is known before a target is looked at and depends on no hash, and estimates weighted by
it stay unbiased.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tracejury_collector.rules.model import SAMPLED, Decision, Rule

MINUTE_NS = 60 * 1_000_000_000
OVERFLOW = 2
"""How many times its cap a rule may select in one minute, while its rates are not lowered yet."""


@dataclass(slots=True)
class Minute:
    """What one rule did in one minute: targets by stratum that came to its sample, selected."""

    sampled: Counter[str] = field(default_factory=Counter)
    selected: int = 0

    def add(self, decision: Decision) -> None:
        """Count a decision."""
        if decision.outcome in SAMPLED:
            self.sampled[decision.stratum] += 1
            self.selected += decision.outcome == "selected"


def cap_factor(rule: Rule, before: Mapping[str, int]) -> float:
    """Return by what the rule's rates are multiplied in a minute, in (0, 1].

    `before` counts, by stratum, the targets that came to its sample in the minute before.
    """
    if rule.per_minute is None:
        return 1.0
    expected = sum(rule.rate_of(stratum) * count for stratum, count in before.items())
    return min(1.0, rule.per_minute / expected) if expected > 0 else 1.0


def overflow(rule: Rule, selected: int) -> str:
    """Say why a rule that selected so many in this minute may select no more; "" if it may."""
    if rule.per_minute is None or selected < OVERFLOW * rule.per_minute:
        return ""
    return f"{selected} were already selected in this minute, twice the cap of {rule.per_minute}"


class Pacer:
    """What each rule did in this minute and the one before, by its name."""

    def __init__(self) -> None:
        self._minutes: dict[tuple[str, int], Minute] = {}

    def note(self, decision: Decision, decided_ns: int) -> None:
        """Count a decision that was written."""
        self.of(decision.rule.name, decided_ns // MINUTE_NS).add(decision)

    def of(self, rule: str, minute: int) -> Minute:
        """Return what the rule did in a minute; what lies further back is forgotten."""
        if (rule, minute) not in self._minutes:
            self._minutes = {k: v for k, v in self._minutes.items() if k[1] >= minute - 1}
        return self._minutes.setdefault((rule, minute), Minute())

    def factor(self, rule: Rule, now_ns: int) -> float:
        """Return by what the rule's rates are multiplied now."""
        before = self._minutes.get((rule.name, now_ns // MINUTE_NS - 1))
        return cap_factor(rule, before.sampled if before else {})
