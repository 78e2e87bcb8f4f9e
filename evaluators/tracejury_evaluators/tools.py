"""Evaluators of the tools that the agent called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.similarity import jaccard
from tracejury.trace import ToolCall, Trace
from tracejury_evaluators.facts import (
    call_spans,
    counted,
    listed,
    missing_tool_calls,
    unseen_tool_calls,
)

MAX_MESSAGE_CHARS = 200


class NoToolErrors(Evaluator):
    """Passes if no tool call failed; the value is the share of calls that did not.

    A call that was only asked for in a message, with no result recorded, has no known outcome
    and does not count. Skipped where no call has a known outcome, so also without any call: a
    trace that used no tool says nothing about its tools.
    """

    type: ClassVar[str] = "no-tool-errors"
    label: ClassVar[str] = "No tool errors"

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score | Skip:
        skip = missing_tool_calls(trace)
        if skip is not None:
            return skip
        known = [call for call in trace.tool_calls if _outcome_is_known(call)]
        if not known:
            return Skip(
                f"{counted(len(trace.tool_calls), 'tool call')} asked for, no outcome recorded"
            )
        failed = [call for call in known if call.error is not None]
        if not failed:
            reason = f"{counted(len(known), 'tool call')}, none failed"
            return Score(1.0, "pass", reason, details={"calls": len(known), "errors": 0})
        return Score(
            1 - len(failed) / len(known),
            "fail",
            f"{len(failed)} of {counted(len(known), 'tool call')} failed: {_error(failed[0])}",
            misses=[_error(call) for call in failed],
            details={"calls": len(known), "errors": len(failed)},
            evidence=call_spans(failed),
        )


class DefinedTools(Evaluator):
    """Passes if every tool that the agent called was among those its models were offered.

    The definitions of all model calls of the trace are taken together; names are compared as
    they are. The value is the share of calls to defined tools. Skipped without tool calls, and
    where no model call recorded the tools it was offered.
    """

    type: ClassVar[str] = "defined-tools"
    label: ClassVar[str] = "Defined tools"

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score | Skip:
        skip = missing_tool_calls(trace)
        if skip is not None:
            return skip
        offered = {tool.name for call in trace.llm_calls for tool in call.tool_definitions}
        if not offered:
            return Skip("no tool definitions were recorded")
        undefined = [call for call in trace.tool_calls if call.name not in offered]
        calls = len(trace.tool_calls)
        details = {"offered": sorted(offered), "calls": calls}
        if not undefined:
            reason = f"{counted(calls, 'tool call')}, all to tools that were offered"
            return Score(1.0, "pass", reason, details=details)
        names = list(dict.fromkeys(call.name for call in undefined))
        return Score(
            1 - len(undefined) / calls,
            "fail",
            f"called but never offered: {listed(names)}; offered: {listed(sorted(offered))}",
            misses=names,
            details=details,
            evidence=call_spans(undefined),
        )


class ExpectedTools(Criteria):
    """The tools that one case expects."""

    expected_tools: list[str] | None = Field(
        default=None, description="names of the tools expected"
    )


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

    expected_tools: list[str] | None = Field(
        default=None, description="names of the tools expected"
    )
    strict_order: bool = Field(
        default=True, description="whether the tools must come in this order"
    )

    def evaluate(self, trace: Trace, criteria: ToolUsageCriteria) -> Score | Skip:
        expected = _given(criteria.expected_tools, self.expected_tools)
        if expected is None:
            return Skip("no expected_tools are given, neither in the config nor in the criteria")
        skip = unseen_tool_calls(trace)
        if skip is not None:
            return skip
        if not expected:
            return _no_tools_expected(trace)
        ordered = self.strict_order if criteria.strict_order is None else criteria.strict_order
        matched = (_in_order if ordered else _any_order)(expected, trace.tool_calls)
        return _usage(trace, expected, matched, ordered)


class ToolJaccard(Evaluator[ExpectedTools]):
    """Jaccard similarity of the tools called and those expected: in both, divided by in either.

    Names are taken as sets, so repeats and order do not count. Two empty sets are alike (1.0).
    Passes from `threshold` on. A case's criteria go before the config. Skipped where neither
    names the tools, and where calls could not be seen.
    """

    type: ClassVar[str] = "tool-jaccard"
    label: ClassVar[str] = "Tool set similarity"

    expected_tools: list[str] | None = Field(
        default=None, description="names of the tools expected"
    )
    threshold: float = Field(
        default=1.0, ge=0, le=1, description="similarity from which the case passes"
    )

    def evaluate(self, trace: Trace, criteria: ExpectedTools) -> Score | Skip:
        expected = _given(criteria.expected_tools, self.expected_tools)
        if expected is None:
            return Skip("no expected_tools are given, neither in the config nor in the criteria")
        skip = unseen_tool_calls(trace)
        if skip is not None:
            return skip
        called = [call.name for call in trace.tool_calls]
        missing = sorted(set(expected) - set(called))
        extra = sorted(set(called) - set(expected))
        value = jaccard(expected, called)
        return Score(
            value,
            reason=_difference(value, missing, extra),
            hits=sorted(set(expected) & set(called)),
            misses=[*missing, *extra],
            details={"missing": missing, "unexpected": extra},
            evidence=call_spans(call for call in trace.tool_calls if call.name in extra),
        )


def _given(own: list[str] | None, default: list[str] | None) -> list[str] | None:
    return default if own is None else own


def _outcome_is_known(call: ToolCall) -> bool:
    return call.source != "message" or call.error is not None or call.output is not None


def _error(call: ToolCall) -> str:
    error = call.error
    said = (error.message or error.type) if error is not None else ""
    return f"{call.name}: {said[:MAX_MESSAGE_CHARS] or 'no message'}"


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


def _difference(value: float, missing: Sequence[str], extra: Sequence[str]) -> str:
    if not missing and not extra:
        return "the tools called are those expected"
    parts = [f"missing: {listed(missing)}"] if missing else []
    parts += [f"unexpected: {listed(extra)}"] if extra else []
    return f"similarity {value:.2f}; {'; '.join(parts)}"


EVALUATORS: tuple[type[Evaluator[Any]], ...] = (
    NoToolErrors,
    DefinedTools,
    ToolUsage,
    ToolJaccard,
)
