"""Whether tools that are required were called, and tools that are forbidden were not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import call_spans, counted, listed, unseen_tool_calls
from tracejury_evaluators.tools.fields import Counted, Spelling, Threshold
from tracejury_evaluators.tools.selection import counted_calls, spelled

REQUIRED = "names of the tools that have to be called"
FORBIDDEN = "names of the tools that must not be called"
NO_TOOLS = "no tools are given, neither in the config nor in the criteria"


class RequiredCriteria(Criteria):
    """The tools that one case requires."""

    aliases: ClassVar[Mapping[str, str]] = {
        "expected_tools": "tools",
        "expectedTools": "tools",
        "required_tools": "tools",
    }

    tools: list[str] | None = Field(default=None, description=REQUIRED)


class RequiredTools(Evaluator[RequiredCriteria]):
    """Passes if each of the tools was called at least once; the value is the share that was.

    Order, repeats and other tools do not count. An empty list requires nothing. A case's
    criteria go before the config. Skipped where neither names the tools, and where calls could
    not be seen.
    """

    type: ClassVar[str] = "required-tools"
    label: ClassVar[str] = "Required tools"
    aliases: ClassVar[Mapping[str, str]] = RequiredCriteria.aliases

    tools: list[str] | None = Field(default=None, description=REQUIRED)
    threshold: Threshold = 1.0
    calls: Counted = "asked"
    names: Spelling = "exact"

    def evaluate(self, trace: Trace, criteria: RequiredCriteria) -> Score | Skip:
        tools = self.tools if criteria.tools is None else criteria.tools
        if tools is None:
            return Skip(NO_TOOLS)
        skip = unseen_tool_calls(trace)
        if skip is not None:
            return skip
        required = list(dict.fromkeys(spelled(tools, self.names)))
        calls = counted_calls(trace.tool_calls, self.calls)
        called = spelled([call.name for call in calls], self.names)
        seen = set(called)
        missing = [name for name in required if name not in seen]
        hits = [name for name in required if name in seen]
        said = f"{len(hits)} of {counted(len(required), 'required tool')} called"
        wanted = set(hits)
        return Score(
            len(hits) / len(required) if required else 1.0,
            reason=f"{said}; missing: {listed(missing)}" if missing else said,
            hits=hits,
            misses=missing,
            details={"required": required, "missing": missing},
            evidence=call_spans(
                call for call, name in zip(calls, called, strict=True) if name in wanted
            ),
        )


class ForbiddenCriteria(Criteria):
    """The tools that one case forbids."""

    aliases: ClassVar[Mapping[str, str]] = {"forbidden_tools": "tools", "forbiddenTools": "tools"}

    tools: list[str] | None = Field(default=None, description=FORBIDDEN)


class ForbiddenTools(Evaluator[ForbiddenCriteria]):
    """Passes if none of the tools was called; one such call fails.

    A call that failed, or was only asked for, counts unless `calls` says otherwise. An empty
    list forbids nothing. A case's criteria go before the config. Skipped where neither names
    the tools, and where calls could not be seen.
    """

    type: ClassVar[str] = "forbidden-tools"
    label: ClassVar[str] = "Forbidden tools"
    aliases: ClassVar[Mapping[str, str]] = ForbiddenCriteria.aliases

    tools: list[str] | None = Field(default=None, description=FORBIDDEN)
    calls: Counted = "asked"
    names: Spelling = "exact"

    def evaluate(self, trace: Trace, criteria: ForbiddenCriteria) -> Score | Skip:
        tools = self.tools if criteria.tools is None else criteria.tools
        if tools is None:
            return Skip(NO_TOOLS)
        skip = unseen_tool_calls(trace)
        if skip is not None:
            return skip
        forbidden = set(spelled(tools, self.names))
        calls = counted_calls(trace.tool_calls, self.calls)
        names = spelled([call.name for call in calls], self.names)
        wrong = [call for call, name in zip(calls, names, strict=True) if name in forbidden]
        details = {"forbidden": sorted(forbidden), "calls": len(wrong)}
        if not wrong:
            reason = f"none of {counted(len(forbidden), 'forbidden tool')} called"
            return Score(1.0, "pass", reason, details=details)
        called = list(dict.fromkeys(call.name for call in wrong))
        return Score(
            0.0,
            "fail",
            f"{counted(len(wrong), 'call')} of forbidden tools: {listed(called)}",
            misses=called,
            details=details,
            evidence=call_spans(wrong),
        )
