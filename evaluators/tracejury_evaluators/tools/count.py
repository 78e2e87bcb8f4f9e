"""Whether tools were called as often as expected."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import ToolCall, Trace
from tracejury_evaluators.facts import call_spans, counted, unseen_tool_calls
from tracejury_evaluators.tools.fields import Counted, Scoring, Spelling, Threshold
from tracejury_evaluators.tools.selection import counted_calls, spelled

Operator = Literal["=", "==", "!=", "<", "<=", ">", ">="]
OPERATORS: Mapping[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
WRITTEN = r"^(=|==|!=|<|<=|>|>=) ?([0-9]{1,9})$"

Comparison = int | tuple[Operator, int] | Annotated[str, StringConstraints(pattern=WRITTEN)]
"""How often: a number, an operator and a number, or both in one text such as ">= 2"."""

COUNTS = 'how often each tool is called: a number, or an operator and a number: `">= 2"`'
TOTAL = "how many calls there are in all, written the same way"


MAX_TOLD = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """How often a tool was called and how often it should be; all calls where `name` is empty."""

    name: str
    made: int
    expected: str
    holds: bool

    @classmethod
    def of(cls, name: str, made: int, comparison: Comparison) -> Check:
        """The check of one comparison."""
        sign, number = _read(comparison)
        return cls(
            name=name,
            made=made,
            expected=f"{sign} {number}",
            holds=OPERATORS[sign](made, number),
        )

    @property
    def text(self) -> str:
        """The check in words."""
        what = f"{self.name} called" if self.name else "all tools called"
        return f"{what} {counted(self.made, 'time')}, expected {self.expected}"


@lru_cache(maxsize=1_024)
def _read(comparison: Comparison) -> tuple[str, int]:
    if isinstance(comparison, int):
        return "=", comparison
    if isinstance(comparison, str):
        number = comparison.lstrip("=!<> ")
        return comparison.removesuffix(number).strip(), int(number)
    return comparison


class CountCriteria(Criteria):
    """How often the tools of one case are called."""

    aliases: ClassVar[Mapping[str, str]] = {
        "tool_calls_count": "counts",
        "toolCallsCount": "counts",
    }

    counts: dict[str, Comparison] | None = Field(default=None, description=COUNTS)
    total: Comparison | None = Field(default=None, description=TOTAL)


class ToolCount(Evaluator[CountCriteria]):
    """Passes if each tool was called as often as expected; the value is the share of counts met.

    Tools that are not named may be called as often as the agent likes; `total` counts all calls.
    No counts at all (`{}`) are met. A case's criteria go before the config, field by field.
    Skipped where neither says how often, and where calls could not be seen.
    """

    type: ClassVar[str] = "tool-count"
    label: ClassVar[str] = "Tool call counts"
    aliases: ClassVar[Mapping[str, str]] = CountCriteria.aliases

    counts: dict[str, Comparison] | None = Field(default=None, description=COUNTS)
    total: Comparison | None = Field(default=None, description=TOTAL)
    score: Scoring = "graded"
    threshold: Threshold = 1.0
    calls: Counted = "asked"
    names: Spelling = "exact"

    def evaluate(self, trace: Trace, criteria: CountCriteria) -> Score | Skip:
        counts = self.counts if criteria.counts is None else criteria.counts
        total = self.total if criteria.total is None else criteria.total
        if counts is None and total is None:
            return Skip("no counts and no total are given, neither in the config nor the criteria")
        skip = unseen_tool_calls(trace)
        if skip is not None:
            return skip
        calls = counted_calls(trace.tool_calls, self.calls)
        called = spelled([call.name for call in calls], self.names)
        made = Counter(called)
        names = spelled(counts or {}, self.names)
        checks = [
            Check.of(name, made[name], comparison)
            for name, comparison in zip(names, (counts or {}).values(), strict=True)
        ]
        wrong = {check.name for check in checks if not check.holds}
        if total is not None:
            checks.append(Check.of("", len(calls), total))
        evidence = [call for call, name in zip(calls, called, strict=True) if name in wrong]
        return self._scored(checks, made, evidence or calls)

    def _scored(
        self, checks: Sequence[Check], made: Mapping[str, int], evidence: Iterable[ToolCall]
    ) -> Score:
        unmet = [check.text for check in checks if not check.holds]
        value = 1 - len(unmet) / len(checks) if checks else 1.0
        said = f"{len(checks) - len(unmet)} of {counted(len(checks), 'count')} as expected"
        return Score(
            value if self.score == "graded" else float(not unmet),
            reason=f"{said}; not: {'; '.join(unmet[:MAX_TOLD])}" if unmet else said,
            hits=[check.text for check in checks if check.holds],
            misses=unmet,
            details={"counts": dict(made), "total": sum(made.values())},
            evidence=call_spans(evidence) if unmet else [],
        )
