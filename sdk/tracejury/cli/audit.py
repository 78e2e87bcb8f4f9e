"""The command that shows who changed what."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from tracejury import terminal
from tracejury.cli.app import Json, Limit, Url, app, connected, example
from tracejury.rest import AuditEntry
from tracejury.terminal import age

PANEL = "Operation"
_STYLES = {"done": "green", "refused": "red", "failed": "yellow"}


@app.command(rich_help_panel=PANEL, epilog=example("tracejury audit --since 1d --outcome refused"))
def audit(
    key: Annotated[str | None, typer.Option(help="By the key of this id or name.")] = None,
    outcome: Annotated[str | None, typer.Option(help="Only done, refused or failed ones.")] = None,
    since: Annotated[str | None, typer.Option(help="Since then: 1h, 2d, or RFC 3339.")] = None,
    limit: Limit = 20,
    cursor: Annotated[
        str | None, typer.Option(help="Continue after the page that gave this cursor.")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List who changed what over the API, and who tried to, newest first."""
    with connected(url) as client:
        page = client.audit(key=key, outcome=outcome, since=since, limit=limit, cursor=cursor)
    if json:
        terminal.print_json(page)
    elif not page.items:
        terminal.console().print("no changes")
    else:
        names = ("age", "key", "outcome", "status", "change")
        rows = [_row(entry) for entry in page.items]
        terminal.print_rows(terminal.console(), [(name, "left") for name in names], rows)


def _row(entry: AuditEntry) -> list[object]:
    outcome = Text(entry.outcome, style=_STYLES[entry.outcome])
    who = entry.key_name or "no keys"
    return [age(entry.created_at), who, outcome, entry.status, f"{entry.method} {entry.target}"]
