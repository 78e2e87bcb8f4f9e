"""Whether the expected tools were called, in order or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from tracejury.evaluator import Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import ToolCall, Trace
from tracejury_evaluators.facts import call_spans, counted, listed
from tracejury_evaluators.tools.expected import ExpectedTools, expected_names
from tracejury_evaluators.tools.fields import ToolNames


class ToolUsageCriteria(ExpectedTools):
    """The tools that one case expects, and whether their order counts."""

    strict_order: bool | None = Field(
        default=None, description="whether the tools must come in this order"
    )


class ToolUsage(Evaluator[ToolUsageCriteria]):
    """Passes if the agent called the expected tools; the value is the share of them it called.

    With `strict_order` they must come in this order, other calls between them allowed: counting
    stops at the first expected tool that does not follow the ones before it. Without it the
    order is free. A tool named twice is expected twice. An empty list expects that no tool is
    called. A case's criteria go before the config. Skipped where neither names the tools, and
    where calls could not be seen.
    """

    type: ClassVar[str] = "tool-usage"
    label: ClassVar[str] = "Tool usage"

    expected_tools: ToolNames = None
    strict_order: bool = Field(
        default=True, description="whether the tools must come in this order"
    )

    def evaluate(self, trace: Trace, criteria: ToolUsageCriteria) -> Score | Skip:
        expected = expected_names(trace, criteria.expected_tools, self.expected_tools)
        if isinstance(expected, Skip):
            return expected
        if not expected:
            return _no_tools_expected(trace)
        ordered = self.strict_order if criteria.strict_order is None else criteria.strict_order
        matched = (_in_order if ordered else _any_order)(expected, trace.tool_calls)
        return _usage(trace, expected, matched, ordered)


def _in_order(expected: Sequence[str], calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls that match the expected names one after the other, up to the first gap."""
    matched: list[ToolCall] = []
    for call in calls:
        if len(matched) < len(expected) and call.name == expected[len(matched)]:
            matched.append(call)
    return matched


def _any_order(expected: Sequence[str], calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls that match the expected names in any order, each name as often as expected."""
    wanted = Counter(expected)
    matched: list[ToolCall] = []
    for call in calls:
        if wanted[call.name] > 0:
            wanted[call.name] -= 1
            matched.append(call)
    return matched


def _no_tools_expected(trace: Trace) -> Score:
    called = [call.name for call in trace.tool_calls]
    if not called:
        return Score(1.0, "pass", "no tool was expected and none was called")
    return Score(
        0.0,
        "fail",
        f"no tool was expected, but {counted(len(called), 'tool call')} made: {listed(called)}",
        misses=called,
        details={"expected": [], "called": called},
        evidence=call_spans(trace.tool_calls),
    )


def _usage(
    trace: Trace, expected: Sequence[str], matched: Sequence[ToolCall], ordered: bool
) -> Score:
    called = [call.name for call in trace.tool_calls]
    if ordered:
        missing = list(expected[len(matched) :])
        reason = f"{len(matched)} of {counted(len(expected), 'expected tool')} called in this order"
        remark = f"; then {missing[0]!r} did not follow" if missing else ""
    else:
        missing = list((Counter(expected) - Counter(call.name for call in matched)).elements())
        reason = f"{len(matched)} of {counted(len(expected), 'expected tool')} called"
        remark = f"; missing: {listed(missing)}" if missing else ""
    return Score(
        len(matched) / len(expected),
        reason=reason + remark,
        hits=[call.name for call in matched],
        misses=missing,
        details={"expected": list(expected), "called": called},
        evidence=call_spans(matched),
    )
