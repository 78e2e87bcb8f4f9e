"""Whether the calls made are those expected, in order or not, with others between them or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import (
    altered_output,
    call_spans,
    counted,
    listed,
    unseen_tool_calls,
)
from tracejury_evaluators.tools.alignment import Pair, free_pairs, ordered_pairs
from tracejury_evaluators.tools.fields import (
    TOOLS,
    Counted,
    DefaultRule,
    ExpectedCall,
    ExpectedCalls,
    Scoring,
    Spelling,
    Threshold,
    ToolRules,
)
from tracejury_evaluators.tools.matching import (
    Called,
    Rules,
    Wanted,
    arguments_fit,
    called,
    doubt,
    rows_of,
    rules_of,
    shown,
    wanted_calls,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a mode asks for: the order, every expected call, no call beyond them."""

    ordered: bool
    complete: bool
    alone: bool


SHAPES: Mapping[str, Shape] = {
    "exact": Shape(ordered=True, complete=True, alone=True),
    "in_order": Shape(ordered=True, complete=True, alone=False),
    "any_order": Shape(ordered=False, complete=True, alone=True),
    "contains_expected": Shape(ordered=False, complete=True, alone=False),
    "within_expected": Shape(ordered=False, complete=False, alone=True),
}
OTHER_NAMES: Mapping[str, str] = {
    "strict": "exact",
    "unordered": "any_order",
    "superset": "contains_expected",
    "subset": "within_expected",
}


def _own_name(mode: str) -> str:
    return OTHER_NAMES.get(mode, mode)


Mode = Annotated[
    Literal[
        "exact",
        "in_order",
        "any_order",
        "contains_expected",
        "within_expected",
        "strict",
        "unordered",
        "superset",
        "subset",
    ],
    AfterValidator(_own_name),
]
MODE = "what the calls made have to be: see [the modes](#modes)"


class SequenceCriteria(Criteria):
    """The calls that one case expects, and in which way."""

    aliases: ClassVar[Mapping[str, str]] = {
        "expected_tools": "expected",
        "expectedTools": "expected",
    }

    expected: ExpectedCalls = None
    mode: Mode | None = Field(default=None, description=MODE)


class ToolSequence(Evaluator[SequenceCriteria]):
    """Passes if the calls made are those expected, in the way that `mode` says.

    Modes are named from the trace's side. `exact`: these calls in this order and no others.
    `in_order`: these in this order, others between them allowed. `any_order`: these and no
    others, order free. `contains_expected`: these among others. `within_expected`: none but
    these, though some may be missing. A call expected twice is expected twice, and each call
    stands for one expected call at most; of all ways to pair them the best is taken.

    The graded value is 1 exactly where the mode holds: matched calls as a share of those expected
    (`in_order`, `contains_expected`), of those made (`within_expected`), or of both (F1: `exact`,
    `any_order`). Skipped where nothing says what is expected, where calls could not be seen, and
    where arguments that were not recorded, or not as they were, decide.
    """

    type: ClassVar[str] = "tool-sequence"
    label: ClassVar[str] = "Tool sequence"
    aliases: ClassVar[Mapping[str, str]] = SequenceCriteria.aliases

    expected: ExpectedCalls = None
    mode: Mode = Field(default="exact", description=MODE)
    args: DefaultRule = "exact"
    tools: ToolRules = Field(default={}, description=TOOLS)
    score: Scoring = "graded"
    threshold: Threshold = 1.0
    calls: Counted = "asked"
    names: Spelling = "exact"

    @cached_property
    def _rules(self) -> Rules:
        return rules_of(self.args, self.tools, self.names)

    @cached_property
    def _own(self) -> Sequence[Wanted]:
        return self._wanted(self.expected or ())

    def _wanted(self, expected: Sequence[str | ExpectedCall]) -> Sequence[Wanted]:
        return wanted_calls(expected, self._rules, self.names)

    def evaluate(self, trace: Trace, criteria: SequenceCriteria) -> Score | Skip:
        if criteria.expected is None and self.expected is None:
            return Skip("no expected calls are given, neither in the config nor in the criteria")
        skip = unseen_tool_calls(trace)
        if skip is not None:
            return skip
        wanted = self._own if criteria.expected is None else self._wanted(criteria.expected)
        made = called(trace.tool_calls, self.calls, self.names, altered_output(trace))
        return self._judged(wanted, made, SHAPES[criteria.mode or self.mode])

    def _judged(self, wanted: Sequence[Wanted], made: Called, shape: Shape) -> Score | Skip:
        rows = rows_of(wanted, made, arguments_fit)
        pairs = _paired(rows.sure, made, shape)
        value = self._value(len(pairs), wanted, made, shape)
        if rows.possible != rows.sure:
            best = _paired(rows.possible, made, shape)
            if self._value(len(best), wanted, made, shape) > value:
                return Skip(doubt(made))
        return _scored(value, pairs, wanted, made, shape)

    def _value(self, matched: int, wanted: Sequence[Wanted], made: Called, shape: Shape) -> float:
        size = (len(wanted) if shape.complete else 0) + (len(made.calls) if shape.alone else 0)
        both = shape.complete and shape.alone
        value = matched * (2 if both else 1) / size if size else 1.0
        return value if self.score == "graded" else float(value == 1)


def _paired(rows: Sequence[int], made: Called, shape: Shape) -> list[Pair]:
    return ordered_pairs(rows, len(made.calls)) if shape.ordered else free_pairs(rows)


def _scored(
    value: float, pairs: Sequence[Pair], wanted: Sequence[Wanted], made: Called, shape: Shape
) -> Score:
    matched = {expected for expected, _ in pairs}
    used = {call for _, call in pairs}
    wrong = [call for index, call in enumerate(made.calls) if index not in used and shape.alone]
    missing = [
        want.text for index, want in enumerate(wanted) if index not in matched and shape.complete
    ]
    extra = [shown(call.name, call.arguments) for call in wrong]
    return Score(
        value,
        reason=_said(len(pairs), missing, extra, len(wanted), shape),
        hits=[wanted[index].name for index in sorted(matched)],
        misses=[*missing, *extra],
        details={
            "expected": [want.name for want in wanted],
            "called": list(made.names),
            "matched": len(pairs),
        },
        evidence=call_spans(wrong or (made.calls[index] for index in sorted(used))),
    )


def _said(
    matched: int, missing: Sequence[str], extra: Sequence[str], expected: int, shape: Shape
) -> str:
    order = " in this order" if shape.ordered else ""
    parts = [f"{matched} of {counted(expected, 'expected call')} made{order}"]
    if missing:
        parts.append(f"missing: {listed(missing)}")
    if extra:
        parts.append(f"unexpected: {listed(extra)}")
    return "; ".join(parts)
