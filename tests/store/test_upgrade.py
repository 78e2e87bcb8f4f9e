"""A database of every earlier layout is brought to the present one with everything in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from tracejury_collector.store.migrate import migrate, migrations

STEPS = migrations()
ROWS = 3
# A value by type: as text it is what DuckDB casts to the type, different in each row.
VALUES = {
    "VARCHAR": "'text {n}'",
    "JSON": "'{{\"n\":{n}}}'",
    "BOOLEAN": "{n} % 2 = 0",
    "TIMESTAMP": "TIMESTAMP '2026-01-01' + INTERVAL {n} HOUR",
    "TIMESTAMP_NS": "make_timestamp_ns(1790000000000000000 + {n})",
    "DATE": "DATE '2026-01-01' + {n}",
    "VARCHAR[]": "['text {n}']",
    "BLOB": "'blob {n}'::BLOB",
}
OWN = {"schema_migrations", "ledger"}
"""Tables that migrations fill themselves."""


def tables(connection: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[str, str]]]:
    """Return the columns of each table with their types."""
    found: dict[str, list[tuple[str, str]]] = {}
    for table, column, kind in connection.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() AS c "
        "SEMI JOIN duckdb_tables() AS t USING (schema_name, table_name) "
        "WHERE schema_name = 'base' ORDER BY table_name, column_index"
    ).fetchall():
        if table not in OWN:
            found.setdefault(table, []).append((column, kind))
    return found


def value(kind: str, number: int) -> str:
    """Return an expression of the type, another one for each number."""
    return VALUES.get(kind, "[]" if kind.endswith("[]") else "{n}").format(n=number)


def fill(connection: duckdb.DuckDBPyConnection) -> None:
    for table, columns in tables(connection).items():
        for number in range(1, ROWS + 1):
            values = ", ".join(value(kind, number) for _, kind in columns)
            names = ", ".join(f'"{name}"' for name, _ in columns)
            connection.execute(f'INSERT INTO base."{table}" ({names}) VALUES ({values})')


def content(
    connection: duckdb.DuckDBPyConnection, layout: dict[str, list[tuple[str, str]]]
) -> dict[str, list[tuple[Any, ...]]]:
    """Return what the tables hold in the columns of a layout."""
    return {
        table: connection.execute(
            f"SELECT {', '.join(f'{chr(34)}{name}{chr(34)}' for name, _ in columns)} "
            f'FROM base."{table}" ORDER BY ALL'
        ).fetchall()
        for table, columns in layout.items()
    }


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:", config={"threads": 1}) as opened:
        opened.execute("SET TimeZone = 'UTC'")
        yield opened


EARLIER = [step.version for step in STEPS[:-1]]
SAMPLE = {EARLIER[0], EARLIER[len(EARLIER) // 2], EARLIER[-1]}


@pytest.mark.parametrize(
    "version", [pytest.param(v, marks=[] if v in SAMPLE else pytest.mark.slow) for v in EARLIER]
)
def test_a_database_of_an_earlier_layout_keeps_its_rows(
    connection: duckdb.DuckDBPyConnection, version: int
) -> None:
    migrate(connection, [step for step in STEPS if step.version <= version])
    fill(connection)
    layout = tables(connection)
    before = content(connection, layout)
    assert all(len(rows) == ROWS for rows in before.values())
    connection.execute("UPDATE base.ledger SET commit_id = 41")

    assert migrate(connection) == STEPS[-1].version - version

    assert content(connection, layout) == before
    assert connection.execute("SELECT commit_id FROM base.ledger").fetchall() == [(41,)]
    assert migrate(connection) == 0
    for (view,) in connection.execute(
        "SELECT view_name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'"
    ).fetchall():
        connection.execute(f'SELECT * FROM main."{view}"').fetchall()
