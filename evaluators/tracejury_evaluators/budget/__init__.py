"""Evaluators of what a run took: time, tokens, money, steps."""

from __future__ import annotations

from typing import Any

from tracejury.evaluator import Evaluator
from tracejury_evaluators.budget.counts import LLMCallBudget, StepBudget
from tracejury_evaluators.budget.time import LatencyBudget, TimeToFirstToken
from tracejury_evaluators.budget.tokens import CostBudget, TokenBudget

EVALUATORS: tuple[type[Evaluator[Any]], ...] = (
    LatencyBudget,
    TokenBudget,
    CostBudget,
    StepBudget,
    LLMCallBudget,
    TimeToFirstToken,
)

__all__ = [
    "EVALUATORS",
    "CostBudget",
    "LLMCallBudget",
    "LatencyBudget",
    "StepBudget",
    "TimeToFirstToken",
    "TokenBudget",
]
