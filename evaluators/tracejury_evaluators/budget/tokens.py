"""Budgets of what models were paid for: tokens and money."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from tracejury.evaluator import Criteria
from tracejury.result import Score, Skip
from tracejury.trace import Trace, Usage
from tracejury_evaluators.budget.spending import WARN_ALIASES, Budget, Spending, known

TOKEN_ALIASES: Mapping[str, str] = {
    "maxTokens": "max_total_tokens",
    "max_tokens": "max_total_tokens",
}
TOTAL = "input and output together"
INPUT = "input, cached tokens included"
OUTPUT = "output"


class TokenCriteria(Criteria):
    """The limits of one case."""

    aliases: ClassVar[Mapping[str, str]] = TOKEN_ALIASES

    max_total_tokens: int | None = Field(default=None, gt=0, description=TOTAL)
    max_input_tokens: int | None = Field(default=None, gt=0, description=INPUT)
    max_output_tokens: int | None = Field(default=None, gt=0, description=OUTPUT)


class TokenBudget(Budget[TokenCriteria]):
    """Passes if the run used no more tokens than each limit; on the limit passes.

    With several limits the worst counts. A case's criteria go before the config, limit by
    limit. Skipped where no limit is given, and where usage that would decide was not recorded.
    """

    type: ClassVar[str] = "token-budget"
    label: ClassVar[str] = "Token budget"
    version: ClassVar[int] = 2
    aliases: ClassVar[Mapping[str, str]] = {**TOKEN_ALIASES, **WARN_ALIASES}

    max_total_tokens: int | None = Field(default=None, gt=0, description=TOTAL)
    max_input_tokens: int | None = Field(default=None, gt=0, description=INPUT)
    max_output_tokens: int | None = Field(default=None, gt=0, description=OUTPUT)

    def evaluate(self, trace: Trace, criteria: TokenCriteria) -> Score | Skip:
        limits = (
            ("total", criteria.max_total_tokens or self.max_total_tokens),
            ("input", criteria.max_input_tokens or self.max_input_tokens),
            ("output", criteria.max_output_tokens or self.max_output_tokens),
        )
        evidence = tuple(call.span_id for call in trace.llm_calls)
        spendings = [_tokens(name, limit, trace.usage, evidence) for name, limit in limits if limit]
        if not spendings:
            return Skip("no limit is given, neither in the config nor in the criteria")
        return self.judged(spendings)


def _tokens(name: str, limit: int, usage: Usage, evidence: tuple[str, ...]) -> Spending:
    counts = _counts(name, usage)
    recorded = [count for count in counts if count is not None]
    used = max(0, sum(recorded))
    complete = len(recorded) == len(counts)
    return Spending(
        name=f"{name}_tokens",
        used=used,
        limit=limit,
        fact=f"{used} {name} tokens of {limit}",
        unknown="" if complete else f"{name} token usage was not recorded",
        evidence=evidence,
    )


def _counts(name: str, usage: Usage) -> list[int | None]:
    """The counts that make up the one that is limited."""
    if name == "input":
        return [usage.input_tokens]
    if name == "output":
        return [usage.output_tokens]
    if usage.total_tokens is not None:
        return [usage.total_tokens]
    return [usage.input_tokens, usage.output_tokens]


class CostCriteria(Criteria):
    """The budget of one case."""

    max_usd: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="highest cost that passes, US dollars"
    )


class CostBudget(Budget[CostCriteria]):
    """Passes if the models of the run cost no more than the budget; exactly on budget passes.

    The cost is the one that was reported, else the list price of the tokens used; the details
    say which. A budget of 0 passes runs that cost nothing. A case's criteria go before the
    config. Skipped where the price of a model is unknown: that is never taken for 0.
    """

    type: ClassVar[str] = "cost-budget"
    label: ClassVar[str] = "Cost budget"
    aliases: ClassVar[Mapping[str, str]] = WARN_ALIASES

    max_usd: float = Field(
        ge=0, allow_inf_nan=False, description="highest cost that passes, US dollars"
    )

    def evaluate(self, trace: Trace, criteria: CostCriteria) -> Score | Skip:
        limit = self.max_usd if criteria.max_usd is None else criteria.max_usd
        costs = known([trace.cost.usd])
        if not costs:
            return Skip(
                "the cost of the run is not known: none was reported, or a price is missing"
            )
        fact = f"${costs[0]:.6g} of ${limit:g} ({trace.cost.source or 'unknown source'})"
        evidence = tuple(call.span_id for call in trace.llm_calls)
        return self.judged(
            [Spending(name="usd", used=costs[0], limit=limit, fact=fact, evidence=evidence)]
        )
