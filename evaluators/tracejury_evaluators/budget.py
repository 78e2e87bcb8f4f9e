"""Evaluators of what a run took: time and tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import Trace, Usage


def budget_value(used: float, budget: float) -> float:
    """1.0 within the budget, falling to 0.0 at twice the budget."""
    if used >= 2 * budget:
        return 0.0
    return 1.0 if used <= budget else 2.0 - used / budget


class LatencyCriteria(Criteria):
    """The budget of one case."""

    budget_ms: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="longest run that passes, in milliseconds",
    )


class LatencyBudget(Evaluator[LatencyCriteria]):
    """Passes if the run took no longer than its budget; a run exactly on budget passes.

    Over budget it fails, and the value falls from 1.0 on budget to 0.0 at twice the budget.
    The time is that from the first start to the last end in the trace. A case's criteria go
    before the config. Skipped where no end was recorded, and where a span never ended and what
    is known is within the budget.
    """

    type: ClassVar[str] = "latency-budget"
    label: ClassVar[str] = "Latency budget"

    budget_ms: float = Field(
        gt=0, allow_inf_nan=False, description="longest run that passes, in milliseconds"
    )

    def evaluate(self, trace: Trace, criteria: LatencyCriteria) -> Score | Skip:
        budget = self.budget_ms if criteria.budget_ms is None else criteria.budget_ms
        if trace.start_ns <= 0 or trace.end_ns <= 0:
            return Skip("the trace has no recorded start or end")
        used = trace.latency_ms
        if used <= budget and any(span.end_ns <= 0 for span in trace.spans):
            return Skip(f"a span never ended; what is known took {used:.0f} ms")
        over = used > budget
        return Score(
            budget_value(used, budget),
            "fail" if over else "pass",
            f"{used:.0f} ms, {'over' if over else 'within'} the budget of {budget:g} ms",
            misses=[f"{used - budget:.0f} ms over budget"] if over else [],
            details={"latency_ms": used, "budget_ms": budget},
            evidence=_longest_spans(trace) if over else [],
        )


class TokenCriteria(Criteria):
    """The limits of one case."""

    max_total_tokens: int | None = Field(
        default=None, gt=0, description="input and output together"
    )
    max_input_tokens: int | None = Field(
        default=None, gt=0, description="input, cached tokens included"
    )
    max_output_tokens: int | None = Field(default=None, gt=0, description="output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Tokens used against one limit; `exact` is False where some were not recorded."""

    name: str
    used: int
    limit: int
    exact: bool


class TokenBudget(Evaluator[TokenCriteria]):
    """Passes if the run used no more tokens than each limit; on the limit passes.

    Over a limit it fails, and the value falls from 1.0 on the limit to 0.0 at twice the limit;
    with several limits the worst counts. A case's criteria go before the config, limit by
    limit. Skipped where no limit is given, and where usage that would decide was not recorded.
    """

    type: ClassVar[str] = "token-budget"
    label: ClassVar[str] = "Token budget"

    max_total_tokens: int | None = Field(
        default=None, gt=0, description="input and output together"
    )
    max_input_tokens: int | None = Field(
        default=None, gt=0, description="input, cached tokens included"
    )
    max_output_tokens: int | None = Field(default=None, gt=0, description="output")

    def evaluate(self, trace: Trace, criteria: TokenCriteria) -> Score | Skip:
        limits = {
            "total": criteria.max_total_tokens or self.max_total_tokens,
            "input": criteria.max_input_tokens or self.max_input_tokens,
            "output": criteria.max_output_tokens or self.max_output_tokens,
        }
        spendings = [_spending(name, limit, trace.usage) for name, limit in limits.items() if limit]
        if not spendings:
            return Skip("no limit is given, neither in the config nor in the criteria")
        over = [spending for spending in spendings if spending.used > spending.limit]
        unknown = [spending.name for spending in spendings if not spending.exact]
        if unknown and not over:
            return Skip(f"{' and '.join(unknown)} token usage was not recorded")
        return _spent(trace, spendings, over)


def _spending(name: str, limit: int, usage: Usage) -> Spending:
    counts = {
        "total": [usage.total_tokens]
        if usage.total_tokens is not None
        else [usage.input_tokens, usage.output_tokens],
        "input": [usage.input_tokens],
        "output": [usage.output_tokens],
    }[name]
    known = [count for count in counts if count is not None]
    return Spending(name=name, used=sum(known), limit=limit, exact=len(known) == len(counts))


def _spent(trace: Trace, spendings: list[Spending], over: list[Spending]) -> Score:
    told = over or spendings
    facts = [f"{s.used} {s.name} tokens of {s.limit}" for s in told]
    return Score(
        min(budget_value(spending.used, spending.limit) for spending in told),
        "fail" if over else "pass",
        f"{'over' if over else 'within'} the budget: {', '.join(facts)}",
        hits=[] if over else facts,
        misses=facts if over else [],
        details={s.name: {"used": s.used, "limit": s.limit} for s in spendings},
        evidence=[call.span_id for call in trace.llm_calls] if over else [],
    )


def _longest_spans(trace: Trace, count: int = 3) -> list[str]:
    """The spans below the roots that took longest: where the time went."""
    below = [span for span in trace.spans if span.parent_span_id]
    below.sort(key=lambda span: span.start_ns - span.end_ns)
    return [span.span_id for span in below[:count]]


EVALUATORS: tuple[type[Evaluator[Any]], ...] = (
    LatencyBudget,
    TokenBudget,
)
