"""Budgets of what an agent did: steps and model calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from tracejury.evaluator import Criteria
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.budget.spending import WARN_ALIASES, Budget, Spending
from tracejury_evaluators.facts import call_spans, counted, unseen_tool_calls


class StepCriteria(Criteria):
    """The budget of one case."""

    max_steps: int | None = Field(default=None, ge=1, description="most steps that pass")


class StepBudget(Budget[StepCriteria]):
    """Passes if the run took no more steps than its budget.

    Steps are model calls and tool calls together, or with `count: spans` the recorded spans. A
    case's criteria go before the config. Skipped where no step was recorded, and where tool
    calls may have been made that cannot be seen and those known are within the budget.
    """

    type: ClassVar[str] = "step-budget"
    label: ClassVar[str] = "Step budget"
    aliases: ClassVar[Mapping[str, str]] = WARN_ALIASES

    max_steps: int = Field(ge=1, description="most steps that pass")
    count: Literal["calls", "spans"] = Field(
        default="calls", description="what a step is: `calls` of models and tools, or `spans`"
    )

    def evaluate(self, trace: Trace, criteria: StepCriteria) -> Score | Skip:
        limit = self.max_steps if criteria.max_steps is None else criteria.max_steps
        if self.count == "spans":
            spans = tuple(span.span_id for span in trace.spans)
            return _counted(self, "span", spans, limit)
        steps = (*(call.span_id for call in trace.llm_calls), *call_spans(trace.tool_calls))
        unseen = unseen_tool_calls(trace)
        used = len(trace.llm_calls) + len(trace.tool_calls)
        return _counted(
            self, "step", steps, limit, used=used, unknown=unseen.reason if unseen else ""
        )


class LLMCallCriteria(Criteria):
    """The budget of one case."""

    max_llm_calls: int | None = Field(default=None, ge=1, description="most calls that pass")


class LLMCallBudget(Budget[LLMCallCriteria]):
    """Passes if the run called models no more often than its budget.

    A call counts once however many spans recorded it, and so does one that failed. A case's
    criteria go before the config. Skipped where no model call was recorded.
    """

    type: ClassVar[str] = "llm-call-budget"
    label: ClassVar[str] = "LLM call budget"
    aliases: ClassVar[Mapping[str, str]] = {
        **WARN_ALIASES,
        "max_calls": "max_llm_calls",
        "maxCalls": "max_llm_calls",
    }

    max_llm_calls: int = Field(ge=1, description="most calls that pass")

    def evaluate(self, trace: Trace, criteria: LLMCallCriteria) -> Score | Skip:
        limit = self.max_llm_calls if criteria.max_llm_calls is None else criteria.max_llm_calls
        return _counted(self, "model call", tuple(c.span_id for c in trace.llm_calls), limit)


def _counted(
    budget: Budget[Any],
    noun: str,
    spans: tuple[str, ...],
    limit: int,
    *,
    used: int | None = None,
    unknown: str = "",
) -> Score | Skip:
    """The score of a number of spans; `used` where it is not the number of those named."""
    number = len(spans) if used is None else used
    if not number:
        return Skip(unknown or f"no {noun} was recorded")
    spending = Spending(
        name=f"{noun.replace(' ', '_')}s",
        used=number,
        limit=limit,
        fact=f"{counted(number, noun)} of {limit}",
        unknown=unknown,
        evidence=spans[limit:],
    )
    return budget.judged([spending])
