"""A consistent copy of the database while it is in use."""

from __future__ import annotations

from tracejury_collector.config import StorageSettings
from tracejury_collector.store.copying import Told, count
from tracejury_collector.store.database import Database
from tracejury_collector.store.mirror import Mirror


def count_all(db: Database) -> int:
    """Return how many rows there are to copy."""
    with db.read() as cursor:
        tables = cursor.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'base'"
        ).fetchall()
        return sum(count(cursor, name) for (name,) in tables)


def write_snapshot(db: Database, path: str, settings: StorageSettings, told: Told) -> None:
    """Write the database as it is when this ends into a new file.

    Only what has come about while most was copied is read in one transaction: as long as there is
    one, the write-ahead log grows.

    Raises: CopyFailed, Unavailable or duckdb.Error, and whatever `told` raises; then there is no
    file.
    """
    mirror = Mirror(db, path, settings, told)
    try:
        mirror.approach()
        with db.read() as cursor:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            mirror.make_equal(cursor)
            mirror.copy.take_sequences(cursor)
        mirror.copy.close()
    except BaseException:
        mirror.copy.abandon()
        raise
