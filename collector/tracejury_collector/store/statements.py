"""The SQL statements of the service, one file each, and running those that read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import duckdb

Row = dict[str, Any]
Params = Sequence[Any] | Mapping[str, Any]

_OPTIONAL = re.compile(r"\(\s*\$(\w+)::\w+ IS NULL\s+OR\s+")
_PARAMETER = re.compile(r"\$(\w+)")


@cache
def statement(name: str) -> str:
    """Return the text of `store/sql/NAME.sql`.

    Raises: KeyError for a name without a file.
    """
    path = files("tracejury_collector.store") / "sql" / f"{name}.sql"
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise KeyError(f"no statement is named {name!r}") from None


def narrowed(name: str, params: Mapping[str, Any]) -> tuple[str, Row]:
    """Return a statement without the conditions that these values make void, and what it takes.

    A condition `($name::TYPE IS NULL OR …)` is void where the value is None. DuckDB would find
    that as well, but plans the statement anew each time, which takes longer than the short
    statements run.
    """
    sql = _narrowed(name, frozenset(key for key, value in params.items() if value is None))
    taken = set(_PARAMETER.findall(sql))
    return sql, {key: value for key, value in params.items() if key in taken}


@cache
def _narrowed(name: str, absent: frozenset[str]) -> str:
    sql, at, kept = statement(name), 0, []
    while match := _OPTIONAL.search(sql, at):
        end = _closing(sql, match.start())
        condition = "true" if match[1] in absent else f"({sql[match.end() : end]})"
        kept += [sql[at : match.start()], condition]
        at = end + 1
    return "".join([*kept, sql[at:]])


def _closing(sql: str, opening: int) -> int:
    """Return where the parenthesis is closed that is opened there."""
    depth = 0
    for at in range(opening, len(sql)):
        depth += {"(": 1, ")": -1}.get(sql[at], 0)
        if not depth:
            return at
    raise ValueError(f"a parenthesis is not closed: {sql[opening:]!r}")


def read_rows(
    cursor: duckdb.DuckDBPyConnection, name: str, params: Params | None = None
) -> list[Row]:
    """Return the rows of the statement in `store/sql`, as dicts."""
    if isinstance(params, Mapping):
        sql, taken = narrowed(name, params)
        return fetch_rows(cursor.execute(sql, taken or None))
    return fetch_rows(cursor.execute(statement(name), params or None))


def fetch_rows(cursor: duckdb.DuckDBPyConnection, at_most: int | None = None) -> list[Row]:
    """Return what the cursor has left, or the first `at_most` rows of it, as dicts."""
    names = [str(column[0]) for column in cursor.description or ()]
    rows = cursor.fetchall() if at_most is None else cursor.fetchmany(at_most)
    return [dict(zip(names, row, strict=True)) for row in rows]
