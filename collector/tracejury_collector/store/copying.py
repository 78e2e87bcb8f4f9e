"""A second database file that is filled from the live one: rows travel as Arrow batches.

It is an instance of its own, because the live one is locked and attaches no other file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from tracejury_collector.config import StorageSettings
from tracejury_collector.errors import CopyFailed
from tracejury_collector.store.migrate import migrate
from tracejury_collector.store.opening import log_files, open_database, sync

BATCH_ROWS = 1024
"""Rows in memory at a time: the values of a row may be megabytes."""
_ROWS_AN_OPENING = 1 << 18

Told = Callable[[int], None]
"""Is told how many rows more have been copied; raises to end the copying."""


class Copy:
    """The new file, with the layout of this release, empty at first."""

    def __init__(self, path: str, settings: StorageSettings, told: Told = lambda _: None) -> None:
        self.path = path
        self._settings = settings
        self._told = told
        self.taken = 0
        self._opened_at = 0
        remove_file(path)
        self.target = open_database(path, settings)
        migrate(self.target)
        for table in self.tables():
            self.target.execute(f"DELETE FROM {_quoted(table)}")

    def tables(self) -> list[str]:
        """Return the tables, by name."""
        rows = self.target.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'base' ORDER BY ALL"
        ).fetchall()
        return [name for (name,) in rows]

    def take(
        self,
        source: duckdb.DuckDBPyConnection,
        table: str,
        where: str = "true",
        params: Sequence[object] = (),
    ) -> int:
        """Copy the rows of a table for which a condition of our own holds; return how many.

        Raises: duckdb.Error, and whatever `told` raises.
        """
        query = f"SELECT * FROM {_quoted(table)} AS t WHERE {where}"
        reader = source.execute(query, list(params)).to_arrow_reader(BATCH_ROWS)
        passing = _Passing(reader, self._told)
        taken = pa.RecordBatchReader.from_batches(reader.schema, passing.batches())
        self.target.register("taken", taken)
        try:
            self.target.execute(f"INSERT INTO {_quoted(table)} BY NAME SELECT * FROM taken")
        except duckdb.Error as error:
            raise passing.fault or error from error
        finally:
            self.target.unregister("taken")
        self.taken += passing.rows
        return passing.rows

    def let_go(self) -> None:
        """Open the file anew when much was written; DuckDB keeps memory for that until then."""
        if self.taken > self._opened_at + _ROWS_AN_OPENING:
            self._opened_at = self.taken
            self.target.close()
            self.target = open_database(self.path, self._settings)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Write what is written within to the disk once, at the end."""
        self.target.execute("BEGIN")
        yield
        self.target.execute("COMMIT")

    def drop(self, table: str, where: str, params: Sequence[object] = ()) -> None:
        """Delete rows of the copy."""
        self.target.execute(f"DELETE FROM {_quoted(table)} AS t WHERE {where}", list(params))

    def take_sequences(self, source: duckdb.DuckDBPyConnection) -> None:
        """Let sequences go on after the last number that the live database has drawn."""
        rows = source.execute(
            "SELECT sequence_name, coalesce(last_value, start_value - increment_by) + increment_by "
            "FROM duckdb_sequences() WHERE schema_name = 'base'"
        ).fetchall()
        for name, next_value in rows:
            self._restart(name, int(next_value))

    def _restart(self, sequence: str, next_value: int) -> None:
        drawn = f"nextval('base.{sequence}')"
        users = self.target.execute(
            "SELECT table_name, column_name FROM duckdb_columns() "
            "WHERE schema_name = 'base' AND contains(column_default, ?)",
            [f"base.{sequence}"],
        ).fetchall()
        for table, column in users:
            self.target.execute(f"ALTER TABLE {_quoted(table)} ALTER COLUMN {column} DROP DEFAULT")
        self.target.execute(f"DROP SEQUENCE base.{sequence}")
        self.target.execute(f"CREATE SEQUENCE base.{sequence} START WITH {next_value}")
        for table, column in users:
            self.target.execute(
                f"ALTER TABLE {_quoted(table)} ALTER COLUMN {column} SET DEFAULT {drawn}"
            )

    def check(self, source: duckdb.DuckDBPyConnection) -> None:
        """Compare the number of rows, table by table.

        Raises: CopyFailed where they differ.
        """
        for table in self.tables():
            old, new = count(source, table), count(self.target, table)
            if old != new:
                raise CopyFailed(
                    f"{table!r} has {old} rows and its copy {new}; the copy is not used, try again"
                )

    def settle(self) -> None:
        """Write everything into the one file, so that the next time little is left to write."""
        self.target.execute("CHECKPOINT")
        sync(self.path)

    def close(self) -> None:
        """Write everything into the one file, down to the disk, and close it.

        Raises: CopyFailed where something is left beside it.
        """
        self.settle()
        self.target.close()
        if log_files(self.path):
            raise CopyFailed(f"{self.path!r} did not take in its log; the copy is not used")
        sync(self.path)

    def abandon(self) -> None:
        """Close the file, whatever state it is in, and remove it."""
        self.target.close()
        remove_file(self.path)


class _Passing:
    """Batches on their way, counted; what ends the counting is kept, for DuckDB hides it."""

    def __init__(self, reader: pa.RecordBatchReader, told: Told) -> None:
        self._reader = reader
        self._told = told
        self.rows = 0
        self.fault: Exception | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches."""
        try:
            for batch in self._reader:
                self._told(batch.num_rows)
                self.rows += batch.num_rows
                yield batch
        except Exception as error:
            self.fault = error
            raise


def count(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    where: str = "true",
    params: Sequence[object] = (),
) -> int:
    """Return how many rows of a table meet a condition of our own."""
    query = f"SELECT count(*) FROM {_quoted(table)} AS t WHERE {where}"
    row = connection.execute(query, list(params)).fetchone()
    return int(row[0]) if row else 0


def remove_file(path: str) -> None:
    """Remove a database file with its log, if they are there."""
    if Path(path).absolute().parent.exists():
        for log in log_files(path):
            Path(log).unlink(missing_ok=True)
    Path(path).unlink(missing_ok=True)


def _quoted(table: str) -> str:
    return f'base."{table}"'
