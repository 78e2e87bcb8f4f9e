"""The command that brings OTLP files in."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from tracejury import terminal
from tracejury.cli import show
from tracejury.cli.app import CHECK_FAILED, WRONG_USE, Json, Url, app, connected, example, fail
from tracejury.client import Client
from tracejury.client.imports import NOTHING, added, unreadable
from tracejury.import_journal import Journal
from tracejury.otlp_files import Counted, Told, content, found_files, pieces_of
from tracejury.otlp_pieces import PROTOBUF, Piece, read_pieces
from tracejury.rest import Imported

INTERRUPTED = 130
STDIN = Path("-")
_EMPTY = Piece(content_type=PROTOBUF, body=b"", end=0)


@dataclass(slots=True, kw_only=True)
class _Import:
    """One run of the command: what it is given, and what has become of each file so far."""

    client: Client
    journal: Journal
    signal: str | None
    again: bool
    advance: Told
    done: dict[str, Imported] = field(default_factory=dict)

    def bring_in(self, path: Path) -> None:
        """Import a file from where an earlier import of it ended."""
        after = 0 if self.again or path == STDIN else self.journal.done(path)
        self.done[str(path)] = NOTHING
        try:
            for piece in self._pieces(path, after):
                self._note(path, self.client.import_or_tell(piece, signal=self.signal))
                if path != STDIN:
                    self.journal.note(path, piece.end)
        except OSError as error:
            self._note(path, unreadable(_EMPTY, error.strerror or str(error)))

    def _pieces(self, path: Path, after: int) -> Iterator[Piece]:
        if path != STDIN:
            return pieces_of(path, after, self.advance)
        return read_pieces(content(Counted(sys.stdin.buffer, self.advance)))

    def _note(self, path: Path, became: Imported) -> None:
        self.done[str(path)] = added(self.done[str(path)], became)


@app.command(
    "import",
    rich_help_panel="Data",
    epilog=example("tracejury import traces.jsonl exports/", "zcat old.gz | tracejury import -"),
)
def import_files(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help="Files, folders with files, or - for standard input."
        ),
    ],
    signal: Annotated[
        str | None, typer.Option(help="What protobuf holds: traces or logs; else it is seen.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also what an earlier import brought in.")
    ] = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Send OTLP files to the service: protobuf, JSON or JSON lines, also in gzip or zstd.

    An import that was broken off goes on where it was when the command is run again.
    """
    files = _files(paths)
    interrupted = False
    with connected(url) as client, _progress(files, quiet=json) as advance:
        journal = Journal(client.import_piece(_EMPTY).database)
        run = _Import(client=client, journal=journal, signal=signal, again=again, advance=advance)
        try:
            for path in files:
                run.bring_in(path)
        except KeyboardInterrupt:
            interrupted = True
    _finish(run, json=json, interrupted=interrupted)


def _files(paths: Sequence[Path]) -> list[Path]:
    """Return the files that are meant; without any the command ends."""
    for path in paths:
        if path != STDIN and not path.exists():
            fail(f"{str(path)!r}: there is no such file or folder", WRONG_USE)
    files = found_files(paths)
    if not files:
        fail(f"no OTLP file lies in {', '.join(map(str, paths))}; name files", WRONG_USE)
    return files


def _finish(run: _Import, *, json: bool, interrupted: bool) -> None:
    """Tell what became of the files, and end with the code that says so."""
    total = NOTHING
    for became in run.done.values():
        total = added(total, became)
    if json:
        files = {name: became.model_dump(mode="json") for name, became in run.done.items()}
        whole = total.model_dump(mode="json")
        terminal.print_json({"files": files, "total": whole, "interrupted": interrupted})
    elif total.received or not total.unreadable:
        show.print_imported(run.done, total)
    if run.journal.problem:
        terminal.print_problem(
            f"how far the import came could not be noted: {run.journal.problem}; "
            "repeated, it begins anew"
        )
    if interrupted:
        fail("interrupted; run the same command again to go on", INTERRUPTED)
    if total.unreadable and not total.received:
        name, became = next((n, b) for n, b in run.done.items() if b.unreadable)
        fail(f"{name}: {became.messages[0]}", WRONG_USE)
    if total.rejected or total.unreadable:
        raise typer.Exit(CHECK_FAILED)


@contextlib.contextmanager
def _progress(files: Sequence[Path], *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show how many bytes of the files are read, on stderr."""
    err = terminal.console(stderr=True)
    if quiet or not err.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("importing"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    total = None if STDIN in files else sum(path.stat().st_size for path in files)
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("import", total=total)
        yield lambda size: bar.advance(task, size)
