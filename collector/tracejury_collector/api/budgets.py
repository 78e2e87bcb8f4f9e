"""Budgets: what judging may cost, and what it has cost today."""

from __future__ import annotations

from fastapi import APIRouter

from tracejury.rest import BudgetState, Page
from tracejury_collector.api.dependencies import Context, problems

router = APIRouter(tags=["operation"])


@router.get("/api/budgets", responses=problems())
def list_budgets(context: Context) -> Page[BudgetState]:
    """List the budgets in force with what was spent of them today (UTC)."""
    states = context.budgets.states()
    return Page(
        items=[
            BudgetState(
                rule=state.rule,
                spent_usd=state.spent.usd,
                usd_per_day=state.limit.usd_per_day,
                spent_tokens=state.spent.tokens,
                tokens_per_day=state.limit.tokens_per_day,
                has_unpriced=state.has_unpriced,
                refusal=context.budgets.refusal(state.rule),
            )
            for state in states
        ]
    )
