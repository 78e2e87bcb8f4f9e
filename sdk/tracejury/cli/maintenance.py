"""Commands that copy the whole database: compact, snapshot."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tracejury import terminal
from tracejury.cli.app import CHECK_FAILED, WRONG_USE, Json, Url, app, connected, example, fail
from tracejury.cli.progress import bar, downloads
from tracejury.client import Client
from tracejury.rest import Compaction, Snapshot
from tracejury.terminal import size

PANEL = "Operation"
_POLL_S = 0.2


@app.command(rich_help_panel=PANEL, epilog=example("tracejury compact --max-pause 3"))
def compact(
    max_pause: Annotated[
        float,
        typer.Option(min=0.1, help="Seconds for which nothing may be stored at most."),
    ] = 6.0,
    url: Url = None,
    json: Json = False,
) -> None:
    """Write the database file anew, without the room that deleted rows leave."""
    with connected(url) as client:
        found = _compacted(client, client.compact(max_pause_s=max_pause), quiet=json)
    if json:
        terminal.print_json(found)
    elif found.state == "done":
        before, after = size(found.bytes_before), size(found.bytes_after or 0)
        terminal.console().print(
            Text(f"{before} before, {after} now; nothing was stored for {found.pause_s:.2f} s")
        )
    if found.state == "failed":
        fail(found.error, CHECK_FAILED)


def _compacted(client: Client, found: Compaction, *, quiet: bool) -> Compaction:
    out = terminal.console(stderr=True)
    told = False
    with bar("copying", quiet=quiet) as advance:
        while found.state == "running":
            advance(min(1.0, found.rows_copied / max(1, found.rows)))
            if found.estimated_pause_s and not told and not quiet:
                told = True
                out.print(Text(f"nothing is stored for {found.estimated_pause_s:.1f} s at most"))
            time.sleep(_POLL_S)
            found = client.compaction(found.id)
    return found


@app.command(
    rich_help_panel=PANEL,
    epilog=example("tracejury snapshot backup.duckdb", "tracejury snapshot --name before-upgrade"),
)
def snapshot(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Where to put it; must not exist.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Leave it beside the database, as NAME.duckdb.")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Copy the database as it is at one moment, while the service works."""
    if (file is None) == (name is None):
        fail("say FILE, to fetch it, or --name, to leave it beside the database", WRONG_USE)
    if file is not None and file.exists():
        fail(f"{str(file)!r} is there already; name another file", WRONG_USE)
    with connected(url) as client:
        found = _taken(client, client.snapshot(name), quiet=json)
        if file is not None:
            _fetch(client, found, file, quiet=json)
    if json:
        terminal.print_json(found)
    else:
        where = str(file) if file is not None else found.path
        terminal.console().print(Text(f"{where}: {size(found.bytes_after or 0)}"), soft_wrap=True)


def _taken(client: Client, found: Snapshot, *, quiet: bool) -> Snapshot:
    with bar("copying", quiet=quiet) as advance:
        while found.state == "running":
            advance(min(1.0, found.rows_copied / max(1, found.rows)))
            time.sleep(_POLL_S)
            found = client.find_snapshot(found.id)
    if found.state == "failed":
        fail(found.error, CHECK_FAILED)
    return found


def _fetch(client: Client, found: Snapshot, file: Path, *, quiet: bool) -> None:
    """Write the snapshot to the file, whole or not at all, and have it removed."""
    try:
        with downloads("fetching", found.bytes_after, quiet=quiet) as advance:
            client.fetch_snapshot(found.id, file, progress=advance)
    finally:
        client.forget_snapshot(found.id)
