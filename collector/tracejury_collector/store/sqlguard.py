"""The one door for SQL that users bring: a single SELECT over the stable views, nothing else."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb

from tracejury_collector.errors import SqlRefused
from tracejury_collector.store.migrate import migrations
from tracejury_collector.store.sqlallowed import VIEWS
from tracejury_collector.store.sqlwalk import NO_LOCATION, Walk

MAX_SQL_BYTES = 64 << 10
_EXPLAIN = re.compile(r"\s*explain\s+(?=select\b|with\b|from\b|values\b)", re.IGNORECASE)
_TREE = "SELECT json_serialize_sql(?::VARCHAR, skip_null := true, skip_empty := true)"
_SELECT = "SELECT "
_lock = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class CheckedSelect:
    """A statement that may be run on a read-only transaction."""

    sql: str
    explain: bool


def check_select(sql: str) -> CheckedSelect:
    """Return the statement, known to be one SELECT (or its EXPLAIN) over the stable views.

    Raises: SqlRefused naming what is not allowed, where it stands, and the remedy.
    """
    explain = _EXPLAIN.match(sql)
    select = sql[explain.end() :] if explain else sql
    with _not_too_deep():
        Walk().statement(_parse(select))
    return CheckedSelect(sql=sql, explain=explain is not None)


def check_subselect(sql: str, whole: str, tables: frozenset[str]) -> dict[str, str]:
    """Return the columns and their types that the statement `whole`, which holds `sql`, gives.

    `tables` are names that `whole` defines for `sql`.
    Raises: SqlRefused naming what is not allowed in `sql`, where it stands, and the remedy.
    """
    with _not_too_deep():
        Walk(tables=tables).statement(_parse(sql))
    return _bind(whole)


def check_expression(sql: str, table: str) -> str:
    """Return the condition on the rows of the view `table`, fit to stand in parentheses.

    Raises: SqlRefused naming what is not allowed, where it stands, and the remedy.
    """
    if table not in VIEWS:
        raise ValueError(f"{table!r} is no view")
    prefix = f"SELECT 1 FROM {table} WHERE ("
    whole = f"{prefix}{sql}\n)"
    with _not_too_deep():
        Walk(subqueries=False).expression(_condition(sql, whole, prefix))
    _bind(whole)
    return f"{sql.strip()}\n" if "--" in sql else sql.strip()


def _condition(sql: str, whole: str, prefix: str) -> dict[str, Any]:
    """Return the tree of the condition: the same inside the statement `whole` and on its own."""
    node = _parse(whole, shift=len(prefix))["node"]
    plain = _parse(f"{prefix}true)")["node"]
    condition = _shifted(node.pop("where_clause", None), len(prefix))
    plain.pop("where_clause")
    alone = _parse(f"{_SELECT}{sql}\n", shift=len(_SELECT))["node"].get("select_list")
    if node != plain or [condition] != _shifted(alone, len(_SELECT)):
        raise SqlRefused("it is not one expression; write a condition like has_error")
    found: dict[str, Any] = condition
    return found


@contextmanager
def _not_too_deep() -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise SqlRefused("it is nested too deep; make it simpler") from error


def _shifted(node: Any, by: int) -> Any:
    """Return the tree with the places in the text counted from `by` on."""
    if isinstance(node, dict):
        return {
            key: (value - by if value < NO_LOCATION else value)
            if key == "query_location"
            else _shifted(value, by)
            for key, value in node.items()
        }
    return [_shifted(item, by) for item in node] if isinstance(node, list) else node


def _parse(sql: str, shift: int = 0) -> dict[str, Any]:
    """Return the syntax tree of the one statement in `sql`.

    Raises: SqlRefused when it is too long, does not parse, or is not one SELECT.
    """
    try:
        size = len(sql.encode())
    except UnicodeEncodeError as error:
        raise SqlRefused(f"it is not valid text: {error}") from error
    if size > MAX_SQL_BYTES:
        raise SqlRefused(f"it is longer than {MAX_SQL_BYTES >> 10} KiB; make it shorter")
    try:
        with _lock:
            row = _connection().execute(_TREE, [sql]).fetchone()
    except duckdb.Error as error:
        raise SqlRefused(f"it does not parse: {error}") from error
    found = json.loads(row[0]) if row else {}
    if found.get("error"):
        raise SqlRefused(_explain(found, shift))
    if len(found["statements"]) != 1:
        raise SqlRefused(f"it holds {len(found['statements'])} statements; send one SELECT")
    statement: dict[str, Any] = found["statements"][0]
    return statement


def _explain(found: dict[str, Any], shift: int) -> str:
    message = found.get("error_message", "it does not parse")
    if found.get("error_type") == "not implemented":
        return f"only SELECT is allowed; send one over {', '.join(sorted(VIEWS))}"
    place = found.get("position")
    return f"{message} (at character {int(place) + 1 - shift})" if place else str(message)


def _bind(sql: str) -> dict[str, str]:
    """Check names and types against the empty views; return the columns that come out.

    Raises: SqlRefused with what DuckDB says.
    """
    try:
        with _lock:
            found = _connection().sql(sql).description
    except duckdb.Error as error:
        raise SqlRefused(reason(error)) from error
    return {str(name).lower(): str(type_) for name, type_, *_ in found}


def reason(error: Exception) -> str:
    """Return what DuckDB says of a query that does not run, with the remedy where it is known."""
    text = str(error).split("\n\nLINE ")[0]
    if "type TIMESTAMP WITH TIME ZONE" in text:
        return f"{text} (times here are UTC without a zone: write now()::TIMESTAMP)"
    return text


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """Return a database in memory that holds the views and no rows."""
    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": 1,
            "memory_limit": "64MB",
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        },
    )
    connection.execute("CREATE SCHEMA base")
    for migration in migrations():
        connection.execute(migration.sql)
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection
