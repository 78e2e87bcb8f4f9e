"""What the stable views and their columns mean, kept in the database beside them as comments.

`comments.json` is made from docs/sql.md; migrations that create a view anew lose its comments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

import duckdb

from tracejury_collector.store.database import Database

_VIEWS = "SELECT view_name, comment FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"
_COLUMNS = (
    "SELECT c.table_name, c.column_name, c.comment FROM duckdb_columns() AS c "
    "JOIN duckdb_views() AS v ON v.view_name = c.table_name AND v.database_name = c.database_name "
    "AND v.schema_name = c.schema_name "
    "WHERE c.schema_name = 'main' AND NOT v.internal AND c.database_name = current_database()"
)


@cache
def comments() -> Mapping[str, Mapping[str, str]]:
    """Return by view what its columns mean; under "" what the view holds."""
    text = (files("tracejury_collector.store") / "comments.json").read_text("utf-8")
    found: Mapping[str, Mapping[str, str]] = json.loads(text)
    return found


def describe(db: Database) -> int:
    """Bring the comments on views and columns up to date; return how many were written."""
    return db.write(_describe).result()


def _describe(connection: duckdb.DuckDBPyConnection) -> int:
    statements = list(_missing(connection))
    if statements:
        connection.execute(";".join(statements))
    return len(statements)


def _missing(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    for view, comment in connection.execute(_VIEWS).fetchall():
        wanted = comments().get(view, {}).get("")
        if wanted is not None and wanted != comment:
            yield f"COMMENT ON VIEW main.{view} IS {_quoted(wanted)}"
    for view, column, comment in connection.execute(_COLUMNS).fetchall():
        wanted = comments().get(view, {}).get(column)
        if wanted is not None and wanted != comment:
            yield f'COMMENT ON COLUMN main.{view}."{column}" IS {_quoted(wanted)}'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
