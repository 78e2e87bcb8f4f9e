"""A consistent copy of the database while it is in use."""

from __future__ import annotations

from tracejury_collector.config import StorageSettings
from tracejury_collector.store.copying import Copy, Told, count
from tracejury_collector.store.database import Database


def count_all(db: Database) -> int:
    """Return how many rows there are to copy."""
    with db.read() as cursor:
        tables = cursor.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'base'"
        ).fetchall()
        return sum(count(cursor, name) for (name,) in tables)


def write_snapshot(db: Database, path: str, settings: StorageSettings, told: Told) -> None:
    """Write the database as it is at this moment into a new file.

    Raises: CopyFailed, Unavailable or duckdb.Error, and whatever `told` raises; then there is no
    file.
    """
    copy = Copy(path, settings, told)
    try:
        with db.read() as cursor:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            for table in copy.tables():
                copy.take(cursor, table)
            copy.take_sequences(cursor)
            copy.check(cursor)
        copy.close()
    except BaseException:
        copy.abandon()
        raise
