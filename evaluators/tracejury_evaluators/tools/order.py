"""Whether calls came in an order that is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import call_spans, counted, missing_tool_calls
from tracejury_evaluators.tools.fields import Counted, Scoring, Spelling, Threshold
from tracejury_evaluators.tools.selection import counted_calls, spelled

MAX_TOLD = 5

Pairs = Annotated[list[tuple[str, str]] | None, Field(max_length=1_000)]
BEFORE = "pairs A, B: B is not called before A was"
NEVER_AFTER = "pairs X, Y: X is not called once Y was"
FIRST = "the first call is of one of these tools"
LAST = "the last call is of one of these tools"


class OrderCriteria(Criteria):
    """The order that one case asks for."""

    before: Pairs = Field(default=None, description=BEFORE)
    never_after: Pairs = Field(default=None, description=NEVER_AFTER)
    first: list[str] | None = Field(default=None, description=FIRST)
    last: list[str] | None = Field(default=None, description=LAST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """One constraint in words, and the calls that break it."""

    text: str
    broken_by: Sequence[int]


class ToolOrderConstraints(Evaluator[OrderCriteria]):
    """Passes if the calls came in an order that is allowed; the value is the share of constraints.

    `before` [A, B]: the first B comes after an A; without a B it holds. `never_after` [X, Y]: no
    X comes after a Y. `first` and `last` name the tools with which the run may begin and end.
    Calls are taken in order of start. Each field of a case's criteria goes before that of the
    config. Skipped where neither has a constraint, without any call, and where calls could not
    be seen.
    """

    type: ClassVar[str] = "tool-order-constraints"
    label: ClassVar[str] = "Tool order constraints"

    before: Pairs = Field(default=None, description=BEFORE)
    never_after: Pairs = Field(default=None, description=NEVER_AFTER)
    first: list[str] | None = Field(default=None, description=FIRST)
    last: list[str] | None = Field(default=None, description=LAST)
    score: Scoring = "graded"
    threshold: Threshold = 1.0
    calls: Counted = "asked"
    names: Spelling = "exact"

    def evaluate(self, trace: Trace, criteria: OrderCriteria) -> Score | Skip:
        calls = counted_calls(trace.tool_calls, self.calls)
        called = spelled([call.name for call in calls], self.names)
        constraints = list(self._constraints(criteria, called))
        if not constraints:
            return Skip("no order is asked for, neither in the config nor in the criteria")
        skip = missing_tool_calls(trace)
        if skip is not None:
            return skip
        if not calls:
            return Skip("no tool call counts: none ran, or none succeeded")
        broken = [constraint for constraint in constraints if constraint.broken_by]
        value = 1 - len(broken) / len(constraints)
        wrong = sorted({position for constraint in broken for position in constraint.broken_by})
        return Score(
            value if self.score == "graded" else float(not broken),
            reason=_said(constraints, broken),
            hits=[constraint.text for constraint in constraints if not constraint.broken_by],
            misses=[constraint.text for constraint in broken],
            details={"constraints": len(constraints), "broken": len(broken), "called": called},
            evidence=call_spans(calls[position] for position in wrong),
        )

    def _constraints(self, criteria: OrderCriteria, called: Sequence[str]) -> Iterator[Constraint]:
        positions: dict[str, list[int]] = {}
        for position, name in enumerate(called):
            positions.setdefault(name, []).append(position)
        before = self.before if criteria.before is None else criteria.before
        for earlier, later in self._spelled(before):
            yield _before(earlier, later, positions)
        never_after = self.never_after if criteria.never_after is None else criteria.never_after
        for name, ended_by in self._spelled(never_after):
            yield _never_after(name, ended_by, positions)
        first = self.first if criteria.first is None else criteria.first
        if first is not None:
            yield _at("first", spelled(first, self.names), called, 0)
        last = self.last if criteria.last is None else criteria.last
        if last is not None:
            yield _at("last", spelled(last, self.names), called, len(called) - 1)

    def _spelled(self, pairs: Iterable[tuple[str, str]] | None) -> Iterator[list[str]]:
        return (spelled(pair, self.names) for pair in pairs or ())


Positions = Mapping[str, Sequence[int]]


def _before(earlier: str, later: str, positions: Positions) -> Constraint:
    start = next(iter(positions.get(earlier, ())), None)
    too_early = [at for at in positions.get(later, ()) if start is None or at < start]
    return Constraint(text=f"{earlier} before {later}", broken_by=too_early)


def _never_after(name: str, ended_by: str, positions: Positions) -> Constraint:
    end = next(iter(positions.get(ended_by, ())), None)
    too_late = [at for at in positions.get(name, ()) if end is not None and at > end]
    return Constraint(text=f"never {name} after {ended_by}", broken_by=too_late)


def _at(place: str, allowed: Sequence[str], called: Sequence[str], position: int) -> Constraint:
    text = f"{' or '.join(allowed) or 'nothing'} {place}"
    fits = bool(called) and called[position] in allowed
    return Constraint(text=text, broken_by=() if fits or not called else (position,))


def _said(constraints: Sequence[Constraint], broken: Sequence[Constraint]) -> str:
    held = len(constraints) - len(broken)
    said = f"{held} of {counted(len(constraints), 'constraint')} held"
    told = "; ".join(constraint.text for constraint in broken[:MAX_TOLD])
    return f"{said}; broken: {told}" if broken else said
