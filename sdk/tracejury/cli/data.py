"""Commands that query and fill the service."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from tracejury import terminal
from tracejury.cli import show, show_dialects
from tracejury.cli.app import Json, Limit, Url, app, connected, example, named
from tracejury.rest import Imported

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


@app.command(
    "import", rich_help_panel=PANEL, epilog=example("tracejury import traces.jsonl more/*.json")
)
def import_files(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", exists=True, dir_okay=False, readable=True),
    ],
    signal: Annotated[
        str | None, typer.Option(help="What protobuf files hold: traces (default) or logs.")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Send OTLP files to the service: protobuf, JSON, or JSON lines."""
    done: dict[str, Imported] = {}
    with connected(url) as client, _progress(files, quiet=json) as advance:
        for path in files:
            with named(path):
                done[str(path)] = client.import_file(path, signal=signal, progress=advance)
    if json:
        terminal.print_json({"files": {k: v.model_dump(mode="json") for k, v in done.items()}})
    else:
        show.print_imported(done)


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


@contextlib.contextmanager
def _progress(files: list[Path], *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show how many bytes of the files are done, on stderr."""
    err = terminal.console(stderr=True)
    if quiet or not err.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("importing"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("import", total=sum(path.stat().st_size for path in files))
        yield lambda size: bar.advance(task, size)
