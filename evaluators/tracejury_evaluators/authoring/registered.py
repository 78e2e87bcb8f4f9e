"""How `tracejury register evaluator` shows what it found and wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson
from rich.console import Console
from rich.text import Text

from tracejury import terminal
from tracejury.terminal import one_line, visible
from tracejury_evaluators.authoring.registering import Registered, config_document


def print_registered(path: Path, done: Sequence[Registered]) -> None:
    """Print each evaluator of the file: its check, the files, the lines for a configuration."""
    out = terminal.console()
    for one in done:
        _print_check(out, one)
        for written in one.written:
            out.print(Text(f"  wrote {visible(str(written))}"), soft_wrap=True)
        if one.kept:
            kept = f"  kept {visible(str(one.kept))}; delete it to have it written anew"
            out.print(Text(kept), soft_wrap=True)
        if one.written and not one.foreign:
            _print_snippet(out, path, one)


def _print_check(out: Console, one: Registered) -> None:
    state = ("wrong", "red") if one.is_bad else ("ok", "green")
    row = one.examined.row
    head = Text.assemble(
        (f"{state[0]}  ", state[1]), f"{one_line(row.type)} ({one_line(row.label)})"
    )
    out.print(head, soft_wrap=True)
    for line in one.examined.report.split("\n")[1:]:
        out.print(Text(f"  {one_line(line)}"), soft_wrap=True)
    if not one.examined.report:
        said = "it needs config or criteria, so it was not run: call check_evaluator in a test"
        out.print(Text(f"  {said}", style="dim"), soft_wrap=True)


def _print_snippet(out: Console, path: Path, one: Registered) -> None:
    document = config_document(path, one.examined)
    plugin = str(path) if path.is_absolute() else f"./{path.as_posix()}"
    out.print(Text("  for tracejury.yaml in this folder:", style="bold"))
    out.print(Text(f"    plugins: {_flow([plugin])}"), soft_wrap=True)
    out.print(Text("    evaluators:"))
    for name, spec in document["evaluators"].items():
        out.print(Text(f"      {visible(name)}: {_flow(spec)}"), soft_wrap=True)


def _flow(value: object) -> str:
    """The value as JSON, which is YAML too."""
    return visible(orjson.dumps(value).decode())
