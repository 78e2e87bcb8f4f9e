"""What a run has decided so far, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracejury_collector.rules import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision, and which evaluators it leaves out because they have judged already."""

    decision: Decision
    left_out: tuple[str, ...] = ()

    @property
    def is_judged(self) -> bool:
        """Whether all that would judge have done so before."""
        return bool(self.left_out) and not self.decision.rule.evaluators


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Traces `examined`, of these the `targets` for which the run's condition holds.

    `judged` are those of the selected ones that every evaluator had judged before.
    `selected` and `left_out` count judgements by evaluator: to be made, made before.
    """

    examined: int = 0
    targets: int = 0
    judged: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)
    selected: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    def plus(self, examined: int, decided: Iterable[Decided]) -> Counts:
        """Return the counts after one more page."""
        found = list(decided)
        outcomes: Counter[str] = Counter(d.decision.outcome for d in found)
        chosen = (d.decision for d in found if d.decision.outcome == "selected")
        selected = Counter(e.name for decision in chosen for e in decision.rule.evaluators)
        return Counts(
            examined=self.examined + examined,
            targets=self.targets + len(found),
            judged=self.judged + sum(d.is_judged for d in found),
            outcomes=_sum(self.outcomes, outcomes),
            selected=_sum(self.selected, selected),
            left_out=_sum(self.left_out, Counter(name for d in found for name in d.left_out)),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the counts as what `counts_of` reads."""
        names = ("examined", "targets", "judged", "outcomes", "selected", "left_out")
        return {name: getattr(self, name) for name in names}


def counts_of(data: Mapping[str, Any]) -> Counts:
    """Return the counts in what `Counts.to_json` gave."""
    return Counts(**data)


def _sum(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
    return {name: a.get(name, 0) + b.get(name, 0) for name in {**a, **b}}
