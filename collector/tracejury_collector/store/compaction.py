"""Writing the database anew, without the room that deleted rows leave, and putting it in place.

Most is copied while the service works: what was there at one moment, then what has come about
since, until that is little. The rest is copied while nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import duckdb

from tracejury_collector.config import StorageSettings
from tracejury_collector.errors import CopyFailed
from tracejury_collector.store.copying import Copy, Told
from tracejury_collector.store.database import Database
from tracejury_collector.store.following import (
    BY_TRACE,
    GROWING,
    Finished,
    Grown,
    supersede_sessions,
)
from tracejury_collector.store.instance import Instance

SWAP_S = 2.5
"""Left for what comes after the copying: to close one file and to open the other."""


class Compaction:
    """A copy that is brought up to date again and again, and then takes the place of the file."""

    def __init__(self, db: Database, path: str, settings: StorageSettings, told: Told) -> None:
        self._db = db
        self._copy = Copy(path, settings, told)
        self._finished = Finished()
        self._grown = [Grown(table) for table in GROWING]

    def catch_up(self) -> float:
        """Copy what has come about since the last time; return how long that took, in seconds."""
        started_s = time.monotonic()
        with self._db.read() as cursor:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            self._copy_since(cursor)
        return time.monotonic() - started_s

    def rehearse(self) -> float:
        """Do what the pause is for; return how long it took, in seconds."""
        started_s = time.monotonic()
        with self._db.read() as cursor:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            self._copy_since(cursor)
            self._copy_rest(cursor, lambda: None)
            self._copy.check(cursor)
            self._copy.settle()
        return time.monotonic() - started_s

    def replace(self, within_s: float) -> float:
        """Copy the rest while nothing is written, and swap the files; return how long it took.

        Raises: CopyFailed where it would take longer than `within_s`, or something is missing: the
        old file stays.
        """

        def swap(instance: Instance) -> float:
            started_s = time.monotonic()
            with _no_longer_than(within_s - SWAP_S) as check:
                instance.checkpoint()
                self._finish(instance.root, check)
            instance.swap(self._copy.path)
            return time.monotonic() - started_s

        self._db.checkpoint().result()  # so that the one in the pause is short
        return self._db.aside(swap).result()

    def abandon(self) -> None:
        """Remove the copy."""
        self._copy.abandon()

    def _finish(self, source: duckdb.DuckDBPyConnection, check: Callable[[], None]) -> None:
        """Make the copy equal to the live database, which nobody writes to."""
        self._copy_since(source)
        check()
        self._copy_rest(source, check)
        self._copy.take_sequences(source)
        self._copy.check(source)
        self._copy.close()
        check()

    def _copy_since(self, source: duckdb.DuckDBPyConnection) -> None:
        self._finished.follow(source, self._copy)
        for grown in self._grown:
            grown.follow(source, self._copy)
        supersede_sessions(source, self._copy)

    def _copy_rest(self, source: duckdb.DuckDBPyConnection, check: Callable[[], None]) -> None:
        """Copy what is not known to be only added to, whole, in place of what was copied."""
        for table in self._rest():
            self._copy.drop(table, "true")
            self._copy.take(source, table)
            check()

    def _rest(self) -> list[str]:
        """Return the tables that are copied whole while nothing is written."""
        followed = {*BY_TRACE, *(table.name for table in GROWING)}
        return [name for name in self._copy.tables() if name not in followed]


@contextmanager
def _no_longer_than(limit_s: float) -> Iterator[Callable[[], None]]:
    """Give what raises CopyFailed once the time is over."""
    deadline_s = time.monotonic() + limit_s

    def check() -> None:
        if time.monotonic() > deadline_s:
            raise CopyFailed(f"what is left to copy takes longer than {limit_s:.1f} s")

    yield check
