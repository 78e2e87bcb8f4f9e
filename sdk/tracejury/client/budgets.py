"""Calls about what judging costs."""

from __future__ import annotations

from tracejury.client.connection import Connection
from tracejury.rest import BudgetState, Page


class BudgetCalls(Connection):
    """What may be spent, and what was."""

    def budgets(self) -> list[BudgetState]:
        """Return the budgets in force with what was spent of them today."""
        return self.get("/api/budgets", Page[BudgetState]).items
