"""The command that has history read again."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.text import Text

from tracejury import terminal
from tracejury.cli.app import CHECK_FAILED, Json, Url, app, connected, example
from tracejury.cli.progress import bar
from tracejury.client import Client
from tracejury.rest import Renormalization

PANEL = "Data"
_POLL_S = 0.2


@app.command(
    rich_help_panel=PANEL,
    epilog=example(
        "tracejury renormalize --since 7d --dry-run", "tracejury renormalize --since 7d"
    ),
)
def renormalize(
    since: Annotated[
        str | None, typer.Option(help="Spans received from then on: 1h, 7d or RFC 3339.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Spans received before then: 1h, 2d or RFC 3339.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only report what would change.")
    ] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="End the one that is running instead.")
    ] = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Read history again after a dialect has changed, and report what came out differently."""
    with connected(url) as client:
        found = _cancel(client) if cancel else _follow(client, since, until, dry_run, quiet=json)
    if found is None:
        terminal.console().print("none is running")
    elif json:
        terminal.print_json(found)
    else:
        _print(found)
    if found is not None and not cancel and found.state in ("canceled", "failed"):
        raise typer.Exit(CHECK_FAILED)


def _cancel(client: Client) -> Renormalization | None:
    running = [found for found in client.renormalizations() if found.state == "running"]
    return client.cancel_renormalization(running[0].id) if running else None


def _follow(
    client: Client, since: str | None, until: str | None, dry_run: bool, *, quiet: bool
) -> Renormalization:
    """Start, or join the one that is running, and wait for its end."""
    running = [found for found in client.renormalizations() if found.state == "running"]
    is_same = bool(running) and running[0].dry_run == dry_run and since is None and until is None
    found = running[0] if is_same else client.renormalize(since=since, until=until, dry_run=dry_run)
    out = terminal.console(stderr=True)
    if is_same:
        out.print(Text(f"joining {found.id}, which is running"))
    try:
        with bar("reading again", quiet=quiet) as advance:
            while found.state == "running":
                advance(found.done)
                time.sleep(_POLL_S)
                found = client.renormalization(found.id)
    except KeyboardInterrupt:
        out.print(Text("it goes on; run the command again to see it, --cancel ends it"))
    return found


def _print(found: Renormalization) -> None:
    out = terminal.console()
    report = found.report
    would = "would change" if found.dry_run else "changed"
    out.print(
        Text(
            f"{found.state}: {report.spans_changed} of {report.spans} spans and "
            f"{report.traces_changed} of {report.traces} traces {would}"
        )
    )
    if report.unreadable:
        out.print(Text(f"{report.unreadable} could not be read again", style="yellow"))
    rows = [
        [column, *(counts.get(how, 0) for how in ("gained", "lost", "changed"))]
        for column, counts in sorted(report.columns.items())
    ]
    if rows:
        numbers: list[tuple[str, terminal.Justify]] = [
            (how, "right") for how in ("gained", "lost", "changed")
        ]
        out.print(terminal.table("", [("column", "left"), *numbers], rows))
    if report.examples:
        out.print(Text(f"for example: {' '.join(report.examples[:3])}"), soft_wrap=True)
