"""Commands that query and fill the service."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tracejury import terminal
from tracejury.cli import show, show_dialects
from tracejury.cli.app import Json, Limit, Url, app, connected, example

PANEL = "Data"
MAX_UNREAD = 1000


@app.command(
    rich_help_panel=PANEL,
    epilog=example("tracejury sql 'SELECT model, sum(cost_usd) FROM llm_calls GROUP BY model'"),
)
def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT; - reads stdin.")],
    limit: Limit = 1000,
    url: Url = None,
    json: Json = False,
) -> None:
    """Run a read-only query over the views."""
    text = sys.stdin.read() if query == "-" else query
    with connected(url) as client:
        result = client.sql(text, limit=limit)
    terminal.print_json(result) if json else show.print_rows(result)


@app.command(rich_help_panel=PANEL, epilog=example("tracejury dialects --all"))
def dialects(
    every: Annotated[
        bool, typer.Option("--all", "-a", help="Also dialects that no recent span follows.")
    ] = False,
    limit: Limit = 20,
    url: Url = None,
    json: Json = False,
) -> None:
    """List the dialects seen, and what looks like GenAI content and is read by none."""
    with connected(url) as client:
        report = client.dialects(unread=min(limit, MAX_UNREAD))
    terminal.print_json(report) if json else show_dialects.print_dialects(report, every=every)
