"""Commands that query and fill the service."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.text import Text

from tracejury import terminal
from tracejury.cli import show, show_dialects
from tracejury.cli.app import WRONG_USE, Json, Limit, Url, app, connected, example, fail
from tracejury.client.tables import ARROW, parquet_of, sql_document
from tracejury.terminal import visible

PANEL = "Data"
MAX_UNREAD = 1000


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    ARROW = "arrow"
    PARQUET = "parquet"


_MEDIA_TYPES = {Format.CSV: "text/csv", Format.ARROW: ARROW, Format.PARQUET: ARROW}


@app.command(
    rich_help_panel=PANEL,
    epilog=example(
        "tracejury sql 'SELECT model, sum(cost_usd) FROM llm_calls GROUP BY model'",
        "tracejury sql @report.sql --format csv > report.csv",
        "tracejury sql @report.sql --format parquet --output report.parquet --limit 100000",
    ),
)
def sql(
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="One SELECT; @FILE reads a file, - reads stdin."),
    ],
    kind: Annotated[
        Format,
        typer.Option("--format", "-f", help="How the rows are written; arrow is an IPC stream."),
    ] = Format.TABLE,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write; must not exist. Else stdout."),
    ] = None,
    limit: Limit = 1000,
    url: Url = None,
    json: Json = False,
) -> None:
    """Run a read-only query over the views."""
    if json and kind not in (Format.TABLE, Format.JSON):
        fail(f"--json and --format {kind} are two answers; leave one out", WRONG_USE)
    kind = Format.JSON if json else kind
    if output is None and kind in (Format.ARROW, Format.PARQUET) and sys.stdout.isatty():
        fail(f"{kind} is not for a terminal; add --output FILE, or a pipe", WRONG_USE)
    with connected(url) as client:
        text = _query(query)
        if kind in (Format.TABLE, Format.JSON):
            result = client.sql(text, limit=limit)
            with _out(output) as out, contextlib.redirect_stdout(out):
                terminal.print_json(result) if kind == Format.JSON else show.print_rows(result)
            return
        found = client.ask(sql_document(text, limit, _MEDIA_TYPES[kind]))
        _write(found.content if kind != Format.PARQUET else parquet_of(found.content), output)
    if found.truncated:
        terminal.print_problem(f"more rows match than the {limit} that --limit allows")


def _write(content: bytes, file: Path | None) -> None:
    """Write an answer; on a terminal without what could steer it."""
    if file is not None:
        with _out(file) as out:
            out.buffer.write(content)
    elif sys.stdout.isatty():
        for line in content.decode("utf-8", "replace").splitlines():
            terminal.console().print(Text(visible(line)), soft_wrap=True)
    else:
        sys.stdout.buffer.write(content)


def _query(given: str) -> str:
    if given == "-":
        return sys.stdin.read()
    return Path(given[1:]).read_text("utf-8") if given.startswith("@") else given


@contextlib.contextmanager
def _out(file: Path | None) -> Iterator[TextIO]:
    """Give where the rows go; a file of which not all was written is removed."""
    if file is None:
        yield sys.stdout
        return
    with open(file, "x", encoding="utf-8", newline="") as out:
        try:
            yield out
        except BaseException:
            file.unlink(missing_ok=True)
            raise


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
