"""Budgets of time: of the run, its turns and model calls, and until the first token."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from tracejury.evaluator import Criteria
from tracejury.result import Score, Skip
from tracejury.trace import LLMCall, Trace, Turn
from tracejury_evaluators.budget.spending import WARN_ALIASES, Budget, Spending, known
from tracejury_evaluators.facts import counted

BUDGET_ALIASES: Mapping[str, str] = {
    "maxMs": "budget_ms",
    "max_ms": "budget_ms",
}
LONGEST = "longest time that passes, in milliseconds"


class TimeCriteria(Criteria):
    """The budget of one case."""

    aliases: ClassVar[Mapping[str, str]] = BUDGET_ALIASES

    budget_ms: float | None = Field(default=None, gt=0, allow_inf_nan=False, description=LONGEST)


class LatencyBudget(Budget[TimeCriteria]):
    """Passes if the run took no longer than its budget; a run exactly on budget passes.

    With `per` it is every turn or every model call that is held against the budget, and the
    slowest counts. A run takes from the first start to the last end in the trace. A case's
    criteria go before the config. Skipped where times that would decide were not recorded: no
    start or end, a span that never ended.
    """

    type: ClassVar[str] = "latency-budget"
    label: ClassVar[str] = "Latency budget"
    version: ClassVar[int] = 2
    aliases: ClassVar[Mapping[str, str]] = {**BUDGET_ALIASES, **WARN_ALIASES}

    budget_ms: float = Field(gt=0, allow_inf_nan=False, description=LONGEST)
    per: Literal["run", "turn", "llm_call"] = Field(
        default="run", description="what the budget is for: `run`, `turn` or `llm_call`"
    )

    def evaluate(self, trace: Trace, criteria: TimeCriteria) -> Score | Skip:
        budget = self.budget_ms if criteria.budget_ms is None else criteria.budget_ms
        if self.per == "llm_call":
            spendings = [_call(*numbered, budget) for numbered in enumerate(trace.llm_calls, 1)]
        elif self.per == "turn" and len(trace.turns) != 1:
            spendings = [_turn(*numbered, budget) for numbered in enumerate(trace.turns, 1)]
        elif trace.start_ns <= 0 or trace.end_ns <= 0:
            return Skip("the trace has no recorded start or end")
        else:
            spendings = [_run(trace, budget)]
        if not spendings:
            return Skip(f"no {self.per.replace('llm', 'model').replace('_', ' ')} was recorded")
        return self.judged(spendings)


def _run(trace: Trace, budget: float) -> Spending:
    used = trace.latency_ms
    is_open = any(span.end_ns <= 0 for span in trace.spans)
    return Spending(
        name="latency_ms",
        used=used,
        limit=budget,
        fact=f"{used:.0f} ms of {budget:g} ms",
        unknown=f"a span never ended; what is known took {used:.0f} ms" if is_open else "",
        evidence=_longest_spans(trace) if used > budget else (),
    )


def _turn(number: int, turn: Turn, budget: float) -> Spending:
    timed = 0 < turn.start_ns <= turn.end_ns
    used = (turn.end_ns - turn.start_ns) / 1e6 if timed else 0.0
    return Spending(
        name=f"turn_{number}_ms",
        used=used,
        limit=budget,
        fact=f"turn {number}: {used:.0f} ms of {budget:g} ms",
        unknown="" if timed else f"turn {number} has no recorded start or end",
        evidence=(turn.span_id,) if turn.span_id else (),
    )


def _call(number: int, call: LLMCall, budget: float) -> Spending:
    timed = known([call.latency_ms])
    used = timed[0] if timed else 0.0
    return Spending(
        name=f"model_call_{number}_ms",
        used=used,
        limit=budget,
        fact=f"model call {number}: {used:.0f} ms of {budget:g} ms",
        unknown="" if timed else f"model call {number} never ended",
        evidence=(call.span_id,),
    )


class TimeToFirstToken(Budget[TimeCriteria]):
    """Passes if the models' first tokens came within the budget; exactly on budget passes.

    The slowest call counts, or with `percentile` the one at that rank (nearest rank). Calls that
    recorded no time to first token, as those that were not streamed, are left out. A case's
    criteria go before the config. Skipped where no call recorded it.
    """

    type: ClassVar[str] = "time-to-first-token"
    label: ClassVar[str] = "Time to first token"
    aliases: ClassVar[Mapping[str, str]] = {**BUDGET_ALIASES, **WARN_ALIASES}

    budget_ms: float = Field(gt=0, allow_inf_nan=False, description=LONGEST)
    percentile: float = Field(
        default=100, gt=0, le=100, description="100: the slowest call; 50: the median"
    )

    def evaluate(self, trace: Trace, criteria: TimeCriteria) -> Score | Skip:
        budget = self.budget_ms if criteria.budget_ms is None else criteria.budget_ms
        calls = [call for call in trace.llm_calls if known([call.ttft_ms])]
        if not calls:
            return Skip("no model call recorded its time to first token")
        return self.judged([self._first_tokens(calls, budget)])

    def _first_tokens(self, calls: list[LLMCall], budget: float) -> Spending:
        times = sorted(known([call.ttft_ms for call in calls]))
        used = times[math.ceil(self.percentile / 100 * len(times)) - 1]
        what = "slowest" if self.percentile == 100 else f"percentile {self.percentile:g}"
        return Spending(
            name="ttft_ms",
            used=used,
            limit=budget,
            fact=f"{what} of {counted(len(times), 'call')}: {used:.0f} ms of {budget:g} ms",
            evidence=tuple(call.span_id for call in calls if (call.ttft_ms or 0) > budget),
        )


def _longest_spans(trace: Trace, count: int = 3) -> tuple[str, ...]:
    """The spans below the roots that took longest: where the time went."""
    below = [span for span in trace.spans if span.parent_span_id]
    below.sort(key=lambda span: span.start_ns - span.end_ns)
    return tuple(span.span_id for span in below[:count])
