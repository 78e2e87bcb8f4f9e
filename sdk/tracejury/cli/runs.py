"""Commands about runs: judging history on demand."""

from __future__ import annotations

from typing import Annotated

import typer

from tracejury import terminal
from tracejury.cli import show_runs
from tracejury.cli.app import WRONG_USE, Json, Limit, Url, app, connected, example, fail
from tracejury.cli.history import finish

PANEL = "Judging"


@app.command(
    rich_help_panel=PANEL,
    epilog=example(
        "tracejury runs",
        "tracejury runs run-6ab2c1d0-9f86d081",
        "tracejury runs cancel run-6ab2c1d0-9f86d081",
    ),
)
def runs(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID | cancel ID]", help="A run: how far it is; or cancel and its id."
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show a run's progress until it has ended.")
    ] = False,
    state: Annotated[
        str | None, typer.Option(help="Only those running, done, canceled or failed.")
    ] = None,
    rule: Annotated[str | None, typer.Option(help="Only those of this rule.")] = None,
    limit: Limit = 20,
    cursor: Annotated[
        str | None, typer.Option(help="Continue where next_cursor of the last page says.")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List runs over history, newest first; show one, or cancel it."""
    with connected(url) as client:
        match words or []:
            case []:
                page = client.runs(state=state, rule=rule, limit=limit, cursor=cursor)
                terminal.print_json(page) if json else show_runs.print_runs(page)
            case ["cancel", run_id]:
                before = client.run(run_id).state
                ended = client.cancel_run(run_id)
                if "running" not in (before, ended.state):
                    show_runs.print_ended_before(ended)
                terminal.print_json(ended) if json else show_runs.print_run(ended)
            case ["cancel"]:
                fail("'cancel' needs the id of a run; 'tracejury runs' lists them", WRONG_USE)
            case [run_id] if follow:
                finish(client, client.run(run_id), quiet=json)
            case [run_id]:
                shown = client.run(run_id)
                terminal.print_json(shown) if json else show_runs.print_run(shown)
            case _:
                fail("give one id, or 'cancel' and one id", WRONG_USE)
