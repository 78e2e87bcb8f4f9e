"""Databases for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tracejury_collector.config import StorageSettings
from tracejury_collector.store.database import Database

SETTINGS = StorageSettings(memory=128 << 20, threads=1)


@contextmanager
def open_database(path: Path) -> Iterator[Database]:
    """Give the database in the file, closed after."""
    db = Database.open(str(path), SETTINGS)
    try:
        yield db
    finally:
        db.close()


def fetch(db: Database, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query on the tables."""
    with db.read() as cursor:
        return cursor.execute(sql).fetchall()
