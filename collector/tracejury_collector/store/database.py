"""The database: one writer with group commit, cursors for readers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

import duckdb

from tracejury_collector.config import StorageSettings
from tracejury_collector.errors import Unavailable
from tracejury_collector.store.finished_ids import FinishedIds
from tracejury_collector.store.instance import Instance
from tracejury_collector.store.opening import is_damage
from tracejury_collector.store.statements import Params, read_rows
from tracejury_collector.store.writer import Writer

T = TypeVar("T")

REDACTED = "redacted"
"""As what `Database.tally` counts values that were taken out before storage, by pattern."""
REJECTED = "rejected_"
"""With a signal after it: as what `Database.tally` counts rejected records, by why."""
NOTHING: Mapping[str, int] = {}


class Database:
    """One DuckDB file: writes wait for the group commit, reads have cursors of their own."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._writer = Writer(instance)
        self.finished = FinishedIds()
        self._closing = threading.Lock()
        self._closed = False

    @classmethod
    def open(cls, path: str, settings: StorageSettings) -> Database:
        """Return the database in file `path`, created or brought to the present layout.

        Raises: ConfigError when the file cannot be used.
        """
        return cls(Instance(path, settings))

    @property
    def path(self) -> str:
        """The file, as the configuration names it."""
        return self._instance.path

    def write(self, operation: Callable[[duckdb.DuckDBPyConnection], T]) -> Future[T]:
        """Run `operation` in the next group commit; resolves once it is on disk.

        The operation may run more than once, each time after a rollback. One that raises is rolled
        back alone.

        Raises: Unavailable when the database is closed.
        """
        return self._writer.submit(operation)

    def aside(self, operation: Callable[[Instance], T]) -> Future[T]:
        """Run `operation` on the instance between two commits; nothing is written meanwhile.

        Raises: Unavailable when the database is closed.
        """
        return self._writer.aside(operation)

    def readable(self, read: Callable[[], T]) -> T:
        """Return what is read at the start; a file that does not give it back is set aside before.

        Raises: whatever `read` raises that is no damage.
        """
        try:
            return read()
        except (Unavailable, duckdb.Error) as error:
            if not is_damage(error):
                raise
            reason = error
        self.aside(lambda instance: instance.start_afresh(reason)).result()
        return read()

    def checkpoint(self) -> Future[None]:
        """Write what is in the log into the file; what was deleted leaves room from then on."""
        return self.aside(lambda instance: instance.checkpoint())

    def grow(self, reason: duckdb.OutOfMemoryException) -> bool:
        """Open the file anew with more memory, after a read had too little; False at the limit."""

        def read_again(_: duckdb.DuckDBPyConnection) -> None:
            raise reason

        if not self._instance.may_grow_to_read:
            return False
        try:
            self.write(read_again).result()
        except Unavailable:
            return True
        except duckdb.OutOfMemoryException:
            pass
        return False

    def tally(self, signal: str, /, **counts: int) -> None:
        """Add to the counters of `signal`; only inside an operation, committed with it."""
        self._writer.tally(signal, counts)

    def counters(self) -> dict[tuple[str, str], int]:
        """Return what was counted and committed so far, by (name, signal)."""
        return self._writer.counters()

    @contextmanager
    def read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give a cursor of its own; it sees what was committed before each of its statements.

        Raises: Unavailable while the database is being opened again after a failure.
        """
        with self._instance.reading() as cursor:
            yield cursor

    @contextmanager
    def read_as_one(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give a cursor whose statements all see the database as it is at the first of them.

        Raises: as `read`.
        """
        with self.read() as cursor:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            yield cursor

    def rows(self, statement_name: str, params: Params | None = None) -> list[dict[str, Any]]:
        """Return the rows of the statement in `store/sql`, as dicts."""
        with self.read() as cursor:
            return read_rows(cursor, statement_name, params)

    def close(self) -> None:
        """Finish queued writes, checkpoint and close the file."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self._writer.stop()
        self._instance.close()
