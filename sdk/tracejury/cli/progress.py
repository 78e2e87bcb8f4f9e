"""The bar that shows how far the service has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from tracejury import terminal


@contextmanager
def bar(what: str, *, quiet: bool) -> Iterator[Callable[[float], None]]:
    """Show a share from 0 to 1 on stderr."""
    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=terminal.console(stderr=True), disable=quiet) as progress:
        task = progress.add_task("", total=1.0)
        yield lambda done: progress.update(task, completed=done)


@contextmanager
def downloads(what: str, total: int | None, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show bytes that have come on stderr; without a total only how many."""
    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=terminal.console(stderr=True), disable=quiet) as progress:
        task = progress.add_task("", total=total)
        yield lambda size: progress.advance(task, size)
