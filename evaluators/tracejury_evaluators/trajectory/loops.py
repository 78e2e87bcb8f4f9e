"""Whether the agent went round in circles."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson
from pydantic import Field

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import ToolCall, Trace
from tracejury_evaluators.facts import call_spans, counted, missing_tool_calls


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call as compared: its name and its arguments, None where not recorded."""

    name: str
    arguments: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """`period` calls that came `repeats` times in a row, from position `start` on."""

    start: int
    period: int
    repeats: int


Same = Callable[[Step, Step], bool]


class NoLoops(Evaluator):
    """Passes if the agent did not repeat itself.

    A loop is the same tool called with the same arguments `max_repeats` times in a row, or a
    pair of different calls A, B that comes `max_cycles` times in a row (A, B, A, B). Calls are
    taken in order of start; results are not looked at, so raise the limits for agents that
    poll. Arguments are compared as data: the order of keys does not count. Skipped without
    tool calls, and where only arguments that were not recorded could tell.
    """

    type: ClassVar[str] = "no-loops"
    label: ClassVar[str] = "No loops"

    max_repeats: int = Field(
        default=3, ge=2, description="the same call this often in a row is a loop"
    )
    max_cycles: int = Field(
        default=2, ge=2, description="the same pair of calls this often is a loop"
    )

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score | Skip:
        skip = missing_tool_calls(trace)
        if skip is not None:
            return skip
        steps = [Step(call.name, comparable(call.arguments)) for call in trace.tool_calls]
        loops = self._loops(steps, surely_same)
        if loops:
            return _looped(trace.tool_calls, loops)
        if any(step.arguments is None for step in steps) and self._loops(steps, possibly_same):
            return Skip("repeated tool calls whose arguments were not recorded may be a loop")
        reason = f"{counted(len(steps), 'tool call')}, no loop"
        return Score(1.0, reason=reason, details={"calls": len(steps)})

    def _loops(self, steps: Sequence[Step], same: Same) -> list[Loop]:
        runs = loops(steps, same, period=1, repeats=self.max_repeats)
        return runs + loops(steps, same, period=2, repeats=self.max_cycles)


def loops(steps: Sequence[Step], same: Same, *, period: int, repeats: int) -> list[Loop]:
    """Every stretch where `period` steps come at least `repeats` times in a row.

    A stretch of one and the same step has period 1 and no other.
    """
    found: list[Loop] = []
    streak = 0
    for position in range(period, len(steps) + 1):
        if position < len(steps) and _recurs(steps, position, period, same):
            streak += 1
            continue
        if streak >= period * (repeats - 1):
            times = (streak + period) // period
            found.append(Loop(start=position - streak - period, period=period, repeats=times))
        streak = 0
    return found


def _recurs(steps: Sequence[Step], position: int, period: int, same: Same) -> bool:
    if not same(steps[position], steps[position - period]):
        return False
    return period == 1 or not surely_same(steps[position], steps[position - 1])


def surely_same(a: Step, b: Step) -> bool:
    """Whether both are the same call; unknown arguments equal none."""
    return a.arguments is not None and a == b


def possibly_same(a: Step, b: Step) -> bool:
    """Whether both may be the same call; unknown arguments equal any."""
    return a.name == b.name and (a.arguments is None or b.arguments is None or a == b)


def comparable(arguments: Any) -> bytes | None:
    """The arguments as bytes that are equal where the data is; None where they are unknown."""
    if arguments is None:
        return None
    try:
        return orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # whole numbers over 64 bits, lone surrogates, deep nesting
        return _comparable_slowly(arguments)


def _comparable_slowly(arguments: Any) -> bytes | None:
    try:
        return json.dumps(arguments, sort_keys=True, default=str).encode("ascii")
    except (RecursionError, TypeError):
        return None


def _looped(calls: Sequence[ToolCall], found: Sequence[Loop]) -> Score:
    texts = [_described(calls, loop) for loop in found]
    more = f", and {counted(len(found) - 1, 'more loop')}" if len(found) > 1 else ""
    looping = [call for loop in found for call in _members(calls, loop)]
    return Score(
        0.0,
        reason=f"{texts[0]}{more}",
        misses=texts,
        details={"calls": len(calls), "loops": len(found)},
        evidence=call_spans(looping),
    )


def _members(calls: Sequence[ToolCall], loop: Loop) -> Sequence[ToolCall]:
    return calls[loop.start : loop.start + loop.period * loop.repeats]


def _described(calls: Sequence[ToolCall], loop: Loop) -> str:
    names = " and ".join(call.name for call in calls[loop.start : loop.start + loop.period])
    taken = "taking turns, " if loop.period > 1 else ""
    return f"{names} called {taken}{loop.repeats} times in a row with the same arguments"
