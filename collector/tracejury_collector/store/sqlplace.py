"""Where in a text of SQL something is wrong, for people to look at."""

from __future__ import annotations

import re
import unicodedata

from tracejury_collector.errors import SqlPlace, SqlRefused

_SHOWN = 76
_CUT = "..."
_LINE = re.compile(r"\n\nLINE (\d+): (.*)\n( *)\^", re.DOTALL)
"""How DuckDB ends what it says: the line, cut to what is around the place, and a caret below."""


def located(error: SqlRefused, sql: str, offset: int) -> SqlRefused:
    """Return the error saying where in `sql` it is: `offset` bytes of UTF-8 from its start."""
    before = sql.encode(errors="replace")[:offset].decode(errors="replace")
    what, separator, remedy = str(error).partition("; ")
    place = _place(sql, len(before))
    words = f" (line {place.line}, character {place.character})"
    return SqlRefused(f"{what}{words}{separator}{remedy}", place=place)


def refused_by_duckdb(text: str, sql: str) -> SqlRefused:
    """Return the error for what DuckDB says of `sql`: what, where, and its own hint."""
    found = _LINE.search(text)
    error = SqlRefused(told(text[: found.start()] if found else text))
    offset = _offset(sql, int(found[1]), found[2], found[3]) if found else None
    return error if offset is None else located(error, sql, len(sql[:offset].encode()))


def refused_in_part(text: str, sql: str, part: str) -> SqlRefused:
    """Return the error for what DuckDB says of `sql`: where in `part`, which stands in it."""
    found = _LINE.search(text)
    error = SqlRefused(told(text[: found.start()] if found else text))
    offset = _offset(sql, int(found[1]), found[2], found[3]) if found else None
    start = sql.find(part)
    if offset is None or not 0 <= offset - start < len(part):
        return error
    return located(error, part, len(sql[start:offset].encode()))


def told(text: str) -> str:
    """Return the first line of what DuckDB says, and as a remedy what it says after it."""
    what, *hints = [line.strip() for line in text.splitlines() if line.strip()] or ["it fails"]
    return "; ".join([what.replace("; ", ", "), *filter(None, [" ".join(hints)])])


def _place(sql: str, offset: int) -> SqlPlace:
    start = sql.rfind("\n", 0, offset) + 1
    line = sql[start:].partition("\n")[0]
    character = offset - start
    cut = max(0, character - _SHOWN // 2) if len(line) > _SHOWN else 0
    return SqlPlace(
        line=sql.count("\n", 0, offset) + 1,
        character=character + 1,
        excerpt=f"{line[cut : cut + _SHOWN]}\n{' ' * (character - cut)}^",
    )


def _offset(sql: str, number: int, excerpt: str, indent: str) -> int | None:
    """Return the character that DuckDB's caret points at."""
    lines = sql.split("\n")
    if number > len(lines):
        return None
    cells = len(indent) - len(f"LINE {number}: ")
    column = _characters(excerpt, cells)
    if excerpt.startswith(_CUT):
        shown = excerpt.removeprefix(_CUT).removesuffix(_CUT)
        column += lines[number - 1].find(shown) - len(_CUT)
    elif not lines[number - 1].startswith(excerpt.removesuffix(_CUT)):
        return None
    return sum(len(line) + 1 for line in lines[: number - 1]) + max(0, column)


def _characters(text: str, cells: int) -> int:
    """Return how many characters of the text take as many cells, as DuckDB counts them."""
    taken = 0
    for count, character in enumerate(text):
        if taken >= cells and _cells(character):
            return count
        taken += _cells(character)
    return len(text)


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Cc", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
