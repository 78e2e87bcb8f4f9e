"""What the command line prints: tables, problems, JSON; nothing in them can steer a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import orjson
from pydantic import BaseModel
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

# C0 and C1 controls, DEL, line separators, bidirectional overrides, lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_SPACE = re.compile(r"\s+")
_WHOLE_CELL = 32
VERDICT_STYLES = {"pass": "green", "partial": "yellow", "fail": "red", "failure": "magenta"}

Justify = Literal["left", "right"]


def console(*, stderr: bool = False) -> Console:
    """Return a console on the present stdout or stderr that marks nothing up by itself."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)


def visible(text: str) -> str:
    """Return the text with every character that could steer a terminal made visible."""
    return _UNSAFE.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def one_line(text: str, width: int = 0) -> str:
    """Return the text on one line, made safe, cut to `width` characters where given."""
    short = visible(_SPACE.sub(" ", text[: 4 * width] if width else text).strip())
    return short if not width or len(short) <= width else short[: width - 1] + "…"


def cell(value: Any) -> Text:
    """Return a table cell for a value of the API."""
    return Text(one_line(show(value), 200))


def show(value: Any) -> str:
    """Return a value of the API as text: "-" for null, JSON for data."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str | int):
        return str(value)
    return orjson.dumps(value, default=str).decode()


def table(
    title: str, columns: Sequence[tuple[str, Justify]], rows: Iterable[Sequence[Any]]
) -> Table:
    """Return a table; cells that are not `Text` yet are made safe."""
    made = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for name, justify in columns:
        made.add_column(Text(visible(name)), justify=justify, overflow="ellipsis", no_wrap=True)
    for row in rows:
        made.add_row(*(item if isinstance(item, Text) else cell(item) for item in row))
    return made


def print_rows(
    out: Console, columns: Sequence[tuple[str, Justify]], rows: Sequence[Sequence[Any]]
) -> None:
    """Print rows as a table, or one value a line where they are too wide for that.

    A table cuts no cell of up to 32 characters, so that ids stay whole.
    """
    cells = [[value if isinstance(value, Text) else cell(value) for value in row] for row in rows]
    names = [visible(name) for name, _ in columns]
    wanted = [
        max([cell_len(name), *(row[n].cell_len for row in cells)]) for n, name in enumerate(names)
    ]
    widths = _fitted(wanted, out.width - 2 * (len(names) - 1))
    if widths is None:
        _print_records(out, names, cells)
        return
    made = table("", columns, cells)
    for column, width in zip(made.columns, widths, strict=True):
        column.width = width
    out.print(made)


def _fitted(wanted: Sequence[int], room: int) -> list[int] | None:
    """Return widths that together have `room`, None where even short cells would be cut."""
    widths = [min(width, _WHOLE_CELL) for width in wanted]
    left = room - sum(widths)
    if left < 0 and len(wanted) > 1:
        return None
    long = [n for n, width in enumerate(wanted) if width > _WHOLE_CELL]
    for turn, n in enumerate(long):
        extra = min(wanted[n] - widths[n], left // (len(long) - turn))
        widths[n] += extra
        left -= extra
    return widths


def _print_records(out: Console, names: Sequence[str], rows: Sequence[Sequence[Text]]) -> None:
    """Print each row as a block of lines: name and value."""
    name_width = max(cell_len(name) for name in names)
    for number, row in enumerate(rows, start=1):
        out.print(Text(f"row {number}", style="bold"))
        for name, value in zip(names, row, strict=True):
            line = Text.assemble((f"  {name:{name_width}}  ", "dim"), value)
            out.print(line, soft_wrap=True)


def fit(out: Console, table: Table, flexible: Mapping[int, int]) -> Table:
    """Return the table cut to the terminal: columns give way evenly, `flexible` says to what."""
    widths = [
        max(cell_len(str(text)) for text in (column.header, *column.cells))
        for column in table.columns
    ]
    excess = sum(widths) + 2 * (len(widths) - 1) - out.width
    while excess > 0 and (wide := [n for n, least in flexible.items() if widths[n] > least]):
        widths[max(wide, key=widths.__getitem__)] -= 1
        excess -= 1
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width
    return table


def print_json(value: Any, *, on_one_line: bool = False) -> None:
    """Write exactly one JSON document to stdout."""
    data = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    option = 0 if on_one_line else orjson.OPT_INDENT_2
    text = orjson.dumps(data, option=option, default=str).decode()
    sys.stdout.write(_UNSAFE_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n")
    sys.stdout.flush()


_UNSAFE_JSON = re.compile("[\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def print_problem(message: str) -> None:
    """Write a one-line message about what went wrong to stderr."""
    console(stderr=True).print(Text(f"tracejury: {one_line(message)}"), soft_wrap=True)


def latency(ms: float | None) -> str:
    """Return a duration for people."""
    if ms is None:
        return "-"
    if ms < 1000:
        return f"{ms:.0f} ms"
    return f"{ms / 1000:.1f} s" if ms < 120_000 else f"{ms / 60_000:.1f} min"


def size(count: float) -> str:
    """Return a number of bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def money(usd: float | None) -> str:
    """Return US dollars for people; an unknown price is "-"."""
    return "-" if usd is None else f"${usd:.6f}".rstrip("0").rstrip(".") if usd else "$0"


def age(start_time: str | None) -> str:
    """Return how long ago an RFC 3339 time was, in its largest whole unit."""
    if start_time is None:
        return "-"
    past = datetime.now(UTC) - datetime.fromisoformat(start_time[:19] + "+00:00")
    seconds = max(0, int(past.total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def print_excerpt(excerpt: str) -> None:
    """Write a line of a user's text and the caret below it to stderr; nothing where it is empty."""
    out = console(stderr=True)
    for line in excerpt.splitlines():
        # Safe characters take one cell each, so that the caret stays below its place.
        out.print(Text(f"  {_UNSAFE.sub('?', line.replace(chr(9), ' '))}"), soft_wrap=True)
