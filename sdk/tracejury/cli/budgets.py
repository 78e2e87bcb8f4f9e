"""The command that shows what judging costs."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from tracejury import terminal
from tracejury.cli.app import Json, Url, app, connected, example
from tracejury.rest import BudgetState, Page

PANEL = "Judging"


@app.command(rich_help_panel=PANEL, epilog=example("tracejury budgets"))
def budgets(url: Url = None, json: Json = False) -> None:
    """Show what judges have cost today (UTC), and what they may cost."""
    with connected(url) as client:
        found = client.budgets()
    terminal.print_json(Page[BudgetState](items=found)) if json else _print(found)


def _print(states: Iterable[BudgetState]) -> None:
    out = terminal.console()
    rows = [
        [
            state.rule or "all rules",
            _of(state.spent_usd, state.usd_per_day),
            _of(state.spent_tokens, state.tokens_per_day),
            _state(state),
        ]
        for state in states
    ]
    if not rows:
        out.print("no budgets; set budget.usd_per_day, or one in a rule")
        return
    out.print(
        terminal.table(
            "", [("rule", "left"), ("USD", "right"), ("tokens", "right"), ("state", "left")], rows
        )
    )


def _of(spent: float, limit: float | None) -> str:
    return f"{spent:.6g}" if limit is None else f"{spent:.6g} of {limit:g}"


def _state(state: BudgetState) -> Text:
    if state.refusal:
        return Text("used up", style="red")
    if state.has_unpriced and state.usd_per_day is not None:
        return Text("some prices unknown", style="yellow")
    return Text("open")
