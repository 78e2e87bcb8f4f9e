"""Calls about what judging costs."""

from __future__ import annotations

from tracejury.client.call import call
from tracejury.client.request import Request, get_items
from tracejury.rest import BudgetState


class BudgetCalls:
    """What may be spent, and what was."""

    @call
    def budgets(self) -> Request[list[BudgetState]]:
        """Return the budgets in force with what was spent of them today."""
        return get_items("/api/budgets", BudgetState)
