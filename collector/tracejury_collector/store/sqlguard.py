"""The one door for SQL that users bring: a single SELECT over the stable views, nothing else."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb

from tracejury_collector.errors import SqlRefused
from tracejury_collector.store.migrate import migrations
from tracejury_collector.store.sqlallowed import VIEWS
from tracejury_collector.store.sqlbounds import NO_LOCATION, check_pattern
from tracejury_collector.store.sqlplace import located, refused_by_duckdb, told
from tracejury_collector.store.sqlwalk import Walk

MAX_SQL_BYTES = 64 << 10
_EXPLAIN = re.compile(r"\s*explain\s+(?=select\b|with\b|from\b|values\b)", re.IGNORECASE)
_TREE = "SELECT json_serialize_sql(?::VARCHAR, skip_null := true, skip_empty := true)"
_SELECT = "SELECT "
_EXPLAINING = "EXPLAIN "
_lock = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class CheckedSelect:
    """A statement that may be run on a read-only transaction."""

    sql: str
    patterns: frozenset[str]
    """The parameters that are patterns of LIKE."""

    def check_params(self, params: Sequence[Any] | Mapping[str, Any]) -> None:
        """Check the values of parameters.

        Raises: SqlRefused naming the value and the remedy.
        """
        named = params.items() if isinstance(params, Mapping) else enumerate(params, 1)
        for name, value in named:
            if str(name) in self.patterns and isinstance(value, str):
                check_pattern(value, {})


def check_select(sql: str) -> CheckedSelect:
    """Return the statement, known to be one SELECT (or its EXPLAIN) over the stable views.

    Raises: SqlRefused naming what is not allowed, where it stands, and the remedy.
    """
    explain = _EXPLAIN.match(sql)
    select = sql[explain.end() :] if explain else sql
    with _placed(sql, len(sql) - len(select)):
        walk = Walk()
        walk.statement(_parse(select))
    return CheckedSelect(sql=sql, patterns=frozenset(walk.patterns))


def check_subselect(sql: str, whole: str, tables: frozenset[str]) -> dict[str, str]:
    """Return the columns and their types that the statement `whole`, which holds `sql`, gives.

    `tables` are names that `whole` defines for `sql`.
    Raises: SqlRefused naming what is not allowed in `sql`, where it stands, and the remedy.
    """
    with _placed(sql):
        Walk(tables=tables).statement(_parse(sql))
        return _bind(whole, shift=len(whole.partition(sql)[0].encode()))


def check_expression(sql: str, table: str) -> str:
    """Return the condition on the rows of the view `table`, fit to stand in parentheses.

    Raises: SqlRefused naming what is not allowed, where it stands, and the remedy.
    """
    if table not in VIEWS:
        raise ValueError(f"{table!r} is no view")
    prefix = f"SELECT 1 FROM {table} WHERE ("
    whole = f"{prefix}{sql}\n)"
    with _placed(sql):
        Walk(subqueries=False).expression(_condition(sql, whole, prefix))
        _bind(whole, shift=len(prefix))
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
def _placed(sql: str, shift: int = 0) -> Iterator[None]:
    """Have refusals say where in `sql` they are; what is parsed begins `shift` bytes into it."""
    try:
        yield
    except RecursionError as error:
        raise SqlRefused("it is nested too deep; make it simpler") from error
    except SqlRefused as error:
        if error.offset is None or not 0 <= error.offset + shift <= len(sql.encode()):
            raise
        raise located(error, sql, error.offset + shift) from error


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
        raise SqlRefused("it is too large to be looked at; make it shorter") from error
    found = json.loads(row[0]) if row else {}
    if found.get("error"):
        raise _explain(found, shift)
    if len(found["statements"]) != 1:
        raise SqlRefused(f"it holds {len(found['statements'])} statements; send one SELECT")
    statement: dict[str, Any] = found["statements"][0]
    return statement


def _explain(found: dict[str, Any], shift: int) -> SqlRefused:
    if found.get("error_type") == "not implemented":
        return SqlRefused(f"only SELECT is allowed; send one over {', '.join(sorted(VIEWS))}")
    place = found.get("position")
    return SqlRefused(
        told(found.get("error_message", "it does not parse")),
        offset=int(place) - shift if place else None,
    )


def _bind(sql: str, shift: int = 0) -> dict[str, str]:
    """Check names and types against the empty views; return the columns that come out.

    Raises: SqlRefused with what DuckDB says; places count from `shift` on.
    """
    with _lock:
        try:
            found = _connection().sql(sql).description
        except duckdb.Error as error:
            raise _unbound(_place_too(sql, str(error)), shift) from error
    return {str(name).lower(): str(type_) for name, type_, *_ in found}


def _place_too(sql: str, text: str) -> str:
    """Return what DuckDB says of a statement when it is to explain it: then it tells the place."""
    try:
        _connection().execute(f"{_EXPLAINING}{sql}")
    except duckdb.Error as error:
        return str(error)
    return text


def _unbound(text: str, shift: int) -> SqlRefused:
    """Return the refusal for an error that DuckDB gives as `Kind Error: {…}`."""
    kind, _, data = text.partition(": ")
    try:
        found = json.loads(data)
    except ValueError:
        return SqlRefused(told(text))
    place = found.get("position")
    return SqlRefused(
        told(f"{kind}: {found['exception_message']}"),
        offset=int(place) - len(_EXPLAINING) - shift if place else None,
    )


def refusal(error: Exception, sql: str) -> SqlRefused:
    """Return what DuckDB says of a query that does not run, with the remedy where it is known."""
    text = str(error).partition("\nStack Trace")[0]
    if isinstance(error, duckdb.OutOfMemoryException):
        return SqlRefused(
            "it needs more memory than there is; read fewer rows or columns, or raise "
            "database.memory"
        )
    if "type TIMESTAMP WITH TIME ZONE" in text:
        text, place = text.partition("\n\nLINE ")[0], "".join(text.partition("\n\nLINE ")[1:])
        text += f"\ntimes here are UTC without a zone: write now()::TIMESTAMP{place}"
    return refused_by_duckdb(text, sql)


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
    connection.execute("SET errors_as_json = true")
    connection.execute("PRAGMA disable_optimizer")  # which would compute constants
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection
