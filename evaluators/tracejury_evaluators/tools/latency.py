"""Whether tools answered in time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import ToolCall, Trace
from tracejury_evaluators.facts import call_spans, counted, missing_tool_calls
from tracejury_evaluators.tools.fields import Counted, Scoring, Spelling, Threshold
from tracejury_evaluators.tools.selection import counted_calls, spelled

MAX_TOLD = 5

Budget = Annotated[float, Field(gt=0, allow_inf_nan=False)]
BUDGET = "milliseconds that each tool without a budget of its own may take"
TOOLS = "milliseconds that single tools may take"


class LatencyCriteria(Criteria):
    """How long the tools of one case may take."""

    aliases: ClassVar[Mapping[str, str]] = {"max_ms": "budget_ms", "maxMs": "budget_ms"}

    budget_ms: Budget | None = Field(default=None, description=BUDGET)
    tools: dict[str, Budget] | None = Field(default=None, description=TOOLS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """A tool's time against its budget, of the calls that were timed."""

    name: str
    took_ms: float
    budget_ms: float
    calls: Sequence[ToolCall]

    @property
    def slow(self) -> Iterator[ToolCall]:
        return (call for call in self.calls if (call.latency_ms or 0.0) > self.budget_ms)

    @property
    def is_late(self) -> bool:
        return self.took_ms > self.budget_ms

    @property
    def text(self) -> str:
        return f"{self.name} took {self.took_ms:.0f} ms of {self.budget_ms:.0f} ms"


class ToolLatency(Evaluator[LatencyCriteria]):
    """Passes if each tool stayed within its budget; the value is the share of tools that did.

    Of several calls of a tool the time at `percentile` counts, by the nearest rank: at 100 the
    longest. Calls without a recorded time do not count. Tools without a budget are not judged.
    Each field of a case's criteria goes before that of the config. Skipped where neither has a
    budget, without any call, and where no time was recorded of a tool with a budget.
    """

    type: ClassVar[str] = "tool-latency"
    label: ClassVar[str] = "Tool latency"
    aliases: ClassVar[Mapping[str, str]] = LatencyCriteria.aliases

    budget_ms: Budget | None = Field(default=None, description=BUDGET)
    tools: dict[str, Budget] = Field(default={}, description=TOOLS)
    percentile: float = Field(
        default=100.0, gt=0, le=100, description="which of several calls counts: 100 the longest"
    )
    score: Scoring = "graded"
    threshold: Threshold = 1.0
    calls: Counted = "asked"
    names: Spelling = "exact"

    def evaluate(self, trace: Trace, criteria: LatencyCriteria) -> Score | Skip:
        default = self.budget_ms if criteria.budget_ms is None else criteria.budget_ms
        own = self.tools if criteria.tools is None else criteria.tools
        if default is None and not own:
            return Skip("no budget is given, neither in the config nor in the criteria")
        skip = missing_tool_calls(trace)
        if skip is not None:
            return skip
        budgets = dict(zip(spelled(own, self.names), own.values(), strict=True))
        timings = list(self._timings(trace.tool_calls, budgets, default))
        if not timings:
            return Skip("no time was recorded of a tool that has a budget")
        return self._scored(timings)

    def _timings(
        self, calls: Sequence[ToolCall], budgets: Mapping[str, float], default: float | None
    ) -> Iterator[Timing]:
        timed = [call for call in counted_calls(calls, self.calls) if call.latency_ms is not None]
        by_name: dict[str, list[ToolCall]] = {}
        for name, call in zip(spelled([c.name for c in timed], self.names), timed, strict=True):
            by_name.setdefault(name, []).append(call)
        for name, made in by_name.items():
            budget = budgets.get(name, default)
            if budget is not None:
                yield Timing(
                    name=name,
                    took_ms=_at_percentile(made, self.percentile),
                    budget_ms=budget,
                    calls=made,
                )

    def _scored(self, timings: Sequence[Timing]) -> Score:
        late = [timing for timing in timings if timing.is_late]
        value = 1 - len(late) / len(timings)
        said = f"{len(timings) - len(late)} of {counted(len(timings), 'tool')} within budget"
        told = "; ".join(timing.text for timing in late[:MAX_TOLD])
        return Score(
            value if self.score == "graded" else float(not late),
            reason=f"{said}; {told}" if late else said,
            hits=[timing.name for timing in timings if not timing.is_late],
            misses=[timing.text for timing in late],
            details={"took_ms": {timing.name: timing.took_ms for timing in timings}},
            evidence=call_spans(call for timing in late for call in timing.slow),
        )


def _at_percentile(calls: Sequence[ToolCall], percentile: float) -> float:
    if len(calls) == 1:
        return calls[0].latency_ms or 0.0
    times = sorted(call.latency_ms or 0.0 for call in calls)
    return times[math.ceil(percentile / 100 * len(times)) - 1]
