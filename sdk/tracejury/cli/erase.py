"""The command that deletes what is stored of an end user."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.text import Text

from tracejury import terminal
from tracejury.cli.app import WRONG_USE, Json, Url, app, connected, example, fail
from tracejury.cli.progress import bar
from tracejury.client import Client
from tracejury.rest import Erasure

PANEL = "Operation"
_POLL_S = 0.2


@app.command(
    rich_help_panel=PANEL,
    epilog=example("tracejury erase --user user-7 --dry-run", "tracejury erase --user user-7"),
)
def erase(
    user: Annotated[str, typer.Option("--user", help="The end user, as user_id says it.")],
    project: Annotated[str | None, typer.Option(help="Only in this project.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count what would be deleted.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Delete everything about the traces of an end user; this cannot be undone."""
    with connected(url) as client:
        found = client.erase(user, project=project, dry_run=True)
        if not dry_run:
            _agree(found, yes=yes)
            found = _follow(client, client.erase(user, project=project), quiet=json)
    terminal.print_json(found) if json else _print(found)


def _agree(counted: Erasure, *, yes: bool) -> None:
    if yes:
        return
    terminal.console(stderr=True).print(Text(_said(counted)))
    if not typer.confirm("Delete them for good?", err=True):
        fail("nothing was deleted", WRONG_USE)


def _follow(client: Client, found: Erasure, *, quiet: bool) -> Erasure:
    try:
        with bar("deleting", quiet=quiet) as advance:
            while found.state == "running":
                advance(found.report.deleted / max(1, found.report.traces))
                time.sleep(_POLL_S)
                found = client.erasure(found.id)
    except KeyboardInterrupt:
        terminal.console(stderr=True).print(Text("it goes on in the service"))
    return found


def _print(found: Erasure) -> None:
    out = terminal.console()
    if found.state == "dry_run":
        out.print(Text(f"{_said(found)} would be deleted"))
        return
    out.print(Text(f"{found.state}: {found.report.deleted} traces deleted"))
    if found.state == "done":
        out.print(
            Text(
                "Nothing shows them any more. Their bytes stay in the file until others are "
                "written over them: 'tracejury compact' writes a new one at once."
            )
        )


def _said(found: Erasure) -> str:
    report = found.report
    unnamed = f" ({report.unnamed} of them name nobody)" if report.unnamed else ""
    return f"{report.traces} traces{unnamed} in {report.sessions} sessions"
