"""Whether the tools called are those that the model was offered."""

from __future__ import annotations

from typing import ClassVar

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import call_spans, counted, listed, missing_tool_calls


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
