"""The command that writes a view to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tracejury import terminal
from tracejury.cli.app import WRONG_USE, Json, Url, app, connected, example, fail
from tracejury.cli.progress import downloads
from tracejury.terminal import size

PANEL = "Data"


@app.command(
    rich_help_panel=PANEL,
    epilog=example(
        "tracejury export traces traces.parquet --since 7d",
        "tracejury export spans errors.parquet --where \"status = 'error'\"",
    ),
)
def export(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="One of the views of SQL.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; must not exist.")],
    where: Annotated[str | None, typer.Option(help="A condition over its columns.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Rows from then on: 1h, 7d or RFC 3339.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Rows from before then: 1h, 2d or RFC 3339.")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Write the rows of a view to a Parquet file."""
    if file.exists():
        fail(f"{str(file)!r} is there already; name another file", WRONG_USE)
    with connected(url) as client, downloads("exporting", None, quiet=json) as advance:
        client.export(view, file, where=where, since=since, until=until, progress=advance)
    written = file.stat().st_size
    if json:
        terminal.print_json({"file": str(file), "bytes": written})
    else:
        terminal.console().print(Text(f"{file}: {size(written)}"), soft_wrap=True)
