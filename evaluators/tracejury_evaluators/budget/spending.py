"""What was used of a budget, and what that is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal

from pydantic import Field
from typing_extensions import TypeVar

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip, Verdict

MAX_TOLD = 20
WORDS: Mapping[Verdict, str] = {
    "pass": "within the budget",
    "partial": "close to the budget",
    "fail": "over the budget",
}
WARN_ALIASES: Mapping[str, str] = {"warn_pct": "warn_share", "warnPct": "warn_share"}

C = TypeVar("C", bound=Criteria, default=Criteria)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What was used against one limit.

    `fact` says both in words. `unknown` says why more may have been used; "" where it is all.
    """

    name: str
    used: float
    limit: float
    fact: str
    unknown: str = ""
    evidence: tuple[str, ...] = ()


class Budget(Evaluator[C], Generic[C]):
    """A base for evaluators that hold what a run took against a limit."""

    warn_share: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="share of the budget above which a run within it is `partial`",
    )
    score: Literal["budget", "headroom"] = Field(
        default="budget",
        description="budget: 1 within the budget, falling to 0 at twice the budget; "
        "headroom: the share of the budget that was left",
    )

    def judged(self, spendings: Sequence[Spending]) -> Score | Skip:
        """The score of what was used; the worst of several counts.

        Skipped where what would decide is not known.
        """
        over = [spending for spending in spendings if spending.used > spending.limit]
        unknown = [spending.unknown for spending in spendings if spending.unknown]
        if unknown and not over:
            return Skip(unknown[0])
        near = [] if over else [s for s in spendings if self._is_near(s)]
        verdict: Verdict = "fail" if over else "partial" if near else "pass"
        told = (over or near or spendings)[:MAX_TOLD]
        facts = [spending.fact for spending in told]
        return Score(
            min(self._value(spending) for spending in spendings),
            verdict,
            f"{WORDS[verdict]}: {_listed(facts, len(over or near or spendings))}",
            hits=facts if verdict == "pass" else [],
            misses=[] if verdict == "pass" else facts,
            details=_details(spendings),
            evidence=[span_id for spending in told for span_id in spending.evidence]
            if verdict != "pass"
            else [],
        )

    def _is_near(self, spending: Spending) -> bool:
        return self.warn_share is not None and spending.used > self.warn_share * spending.limit

    def _value(self, spending: Spending) -> float:
        if self.score == "headroom":
            return headroom(spending.used, spending.limit)
        return budget_value(spending.used, spending.limit)


def budget_value(used: float, limit: float) -> float:
    """1.0 within the limit, falling to 0.0 at twice the limit."""
    if used <= limit:
        return 1.0
    return 0.0 if used >= 2 * limit else 2.0 - used / limit


def headroom(used: float, limit: float) -> float:
    """The share of the limit that is left: 1.0 where nothing was used, 0.0 from the limit on.

    Nothing used of a limit of zero is all of it.
    """
    if used <= 0:
        return 1.0
    return 0.0 if used >= limit else 1.0 - used / limit


def known(amounts: Sequence[float | None]) -> list[float]:
    """The amounts that were recorded and can be: finite and not negative."""
    return [a for a in amounts if a is not None and math.isfinite(a) and a >= 0]


def _details(spendings: Sequence[Spending]) -> dict[str, Any]:
    details: dict[str, Any] = {}
    for spending in spendings[:MAX_TOLD]:
        details[spending.name] = spending.used
        details[f"{spending.name}_limit"] = spending.limit
    return details


def _listed(facts: Sequence[str], number: int, shown: int = 3) -> str:
    more = number - shown
    text = ", ".join(facts[:shown])
    return f"{text} and {more} more" if more > 0 else text
