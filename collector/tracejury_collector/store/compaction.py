"""Writing the database anew, without the room that deleted rows leave, and putting it in place.

Most is copied while the service works: what was there at one moment, then what has come about
since, until that is little. The rest is copied while nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import duckdb
import orjson

from tracejury_collector.config import StorageSettings
from tracejury_collector.errors import CopyFailed
from tracejury_collector.store.copying import Copy, Told, count
from tracejury_collector.store.database import Database
from tracejury_collector.store.instance import Instance
from tracejury_collector.store.statements import statement

BY_SEQ: Final = ("spans", "logs")
"""Only added to; exact duplicates are dropped from them again."""
BY_TRACE: Final = ("traces", "tool_calls", "llm_calls", "messages", "documents")
"""Written when a trace is finished, marked when it is finished again."""
BY_MARK: Final = {"results": "position", "decisions": "decided_at", "attempts": "started_at"}
"""Only added to, in the order of a column; results are marked as superseded."""

SETTLED_NS: Final = 6 * 3600 * 1_000_000_000
"""Attempts may be taken back while their evaluator runs: these are copied at the end."""
_BLOCK_SEQS = 1 << 16
SWAP_S = 2.5
"""Left for what comes after the copying: to close one file and to open the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What has been copied: everything up to these numbers, but of traces open then."""

    seq: int
    position: int
    decided_ns: int
    attempted_ns: int
    open_traces: frozenset[str]


_NOTHING = Mark(
    seq=-1, position=-(1 << 62), decided_ns=-1, attempted_ns=-1, open_traces=frozenset()
)


class Compaction:
    """A copy that is brought up to date again and again, and then takes the place of the file."""

    def __init__(self, db: Database, path: str, settings: StorageSettings, told: Told) -> None:
        self._db = db
        self._copy = Copy(path, settings, told)
        self._mark = _NOTHING

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

    def _copy_rest(self, source: duckdb.DuckDBPyConnection, check: Callable[[], None]) -> None:
        """Copy what is not known to be only added to, whole, in place of what was copied."""
        since = [self._mark.attempted_ns]
        self._copy.drop("attempts", _LATER, since)
        self._copy.take(source, "attempts", _LATER, since)
        for table in self._rest():
            self._copy.drop(table, "true")
            self._copy.take(source, table)
            check()

    def _copy_since(self, source: duckdb.DuckDBPyConnection) -> None:
        before = self._mark
        now = _marked(source, before)
        self._drop_duplicates(source, before.seq)
        touched = self._touched(source, before, now)
        for table in BY_TRACE:
            self._take_traces(source, table, None if before is _NOTHING else touched)
        for table in BY_SEQ:
            self._copy.take(source, table, _between("t.seq"), [before.seq, now.seq])
        positions = [before.position, now.position]
        self._copy.take(source, "results", _between("t.position"), positions)
        self._supersede(source, before.position)
        decided = [before.decided_ns, now.decided_ns]
        self._copy.take(source, "decisions", _between("epoch_ns(t.decided_at)"), decided)
        self._copy.drop("attempts", _LATER, [before.attempted_ns])  # what a rehearsal has copied
        attempted = [before.attempted_ns, now.attempted_ns]
        self._copy.take(source, "attempts", _between("epoch_ns(t.started_at)"), attempted)
        self._mark = now

    def _touched(self, source: duckdb.DuckDBPyConnection, before: Mark, now: Mark) -> set[str]:
        """Return the traces that were open, or became so, since the mark."""
        found = set(before.open_traces)
        for table in BY_SEQ:
            rows = source.execute(
                f"SELECT DISTINCT trace_id FROM base.{table} WHERE seq > ? AND seq <= ?",
                [before.seq, now.seq],
            ).fetchall()
            found.update(trace_id for (trace_id,) in rows)
        return found

    def _take_traces(
        self, source: duckdb.DuckDBPyConnection, table: str, touched: set[str] | None
    ) -> None:
        """Copy the rows of these traces anew, of all where it is None."""
        if touched is None:
            self._copy.take(source, table)
        elif touched:
            ids = [orjson.dumps(sorted(touched)).decode()]
            among = "t.trace_id IN (SELECT value ->> '$' FROM json_each(?))"
            self._copy.drop(table, among, ids)
            self._copy.take(source, table, among, ids)

    def _supersede(self, source: duckdb.DuckDBPyConnection, position: int) -> None:
        """Mark the results that were superseded since they were copied."""
        marked = "t.superseded AND t.position <= ?"
        if count(source, "results", marked, [position]) == count(
            self._copy.target, "results", marked, [position]
        ):
            return
        rows = source.execute(
            "SELECT position FROM base.results WHERE superseded AND position <= ?", [position]
        ).fetchall()
        self._copy.target.execute(
            "UPDATE base.results SET superseded = true WHERE NOT superseded AND position IN "
            "(SELECT value::BIGINT FROM json_each(?))",
            [orjson.dumps([number for (number,) in rows]).decode()],
        )

    def _drop_duplicates(self, source: duckdb.DuckDBPyConnection, seq: int) -> None:
        """Drop what was dropped as a duplicate since it was copied."""
        for table in BY_SEQ:
            copied = [count(c, table, "t.seq <= ?", [seq]) for c in (source, self._copy.target)]
            if copied[0] == copied[1]:
                continue
            old, new = (_blocks(c, table, seq) for c in (source, self._copy.target))
            for block in new:
                if old.get(block) != new[block]:
                    self._drop_in_block(source, table, block)

    def _drop_in_block(self, source: duckdb.DuckDBPyConnection, table: str, block: int) -> None:
        low, high = block * _BLOCK_SEQS, (block + 1) * _BLOCK_SEQS
        rows = source.execute(
            f"SELECT seq FROM base.{table} WHERE seq >= ? AND seq < ?", [low, high]
        ).fetchall()
        kept = orjson.dumps([seq for (seq,) in rows]).decode()
        within = "t.seq >= ? AND t.seq < ? AND t.seq <= ?"
        gone = "t.seq NOT IN (SELECT value::BIGINT FROM json_each(?))"
        self._copy.drop(table, f"{within} AND {gone}", [low, high, self._mark.seq, kept])

    def _rest(self) -> list[str]:
        """Return the tables that are copied whole while nothing is written."""
        return [name for name in self._copy.tables() if name not in (*BY_SEQ, *BY_TRACE, *BY_MARK)]


def _marked(source: duckdb.DuckDBPyConnection, before: Mark) -> Mark:
    """Return what is there now, never less than before."""
    row = source.execute(statement("copy_mark")).fetchone()
    assert row is not None, "aggregates answer one row"
    seq, position, decided_ns, attempted_ns = row
    opened = source.execute("SELECT DISTINCT trace_id FROM base.arrivals").fetchall()
    return Mark(
        seq=max(before.seq, seq),
        position=max(before.position, position),
        decided_ns=max(before.decided_ns, decided_ns),
        attempted_ns=max(before.attempted_ns, attempted_ns - SETTLED_NS),
        open_traces=frozenset(trace_id for (trace_id,) in opened),
    )


_LATER: Final = "epoch_ns(t.started_at) > ?"


def _between(column: str) -> str:
    return f"{column} > ? AND {column} <= ?"


def _blocks(connection: duckdb.DuckDBPyConnection, table: str, seq: int) -> dict[int, int]:
    """Return how many rows up to a number lie in each block of numbers."""
    rows = connection.execute(
        f"SELECT seq // {_BLOCK_SEQS}, count(*) FROM base.{table} WHERE seq <= ? GROUP BY ALL",
        [seq],
    ).fetchall()
    return dict(rows)


@contextmanager
def _no_longer_than(limit_s: float) -> Iterator[Callable[[], None]]:
    """Give what raises CopyFailed once the time is over."""
    deadline_s = time.monotonic() + limit_s

    def check() -> None:
        if time.monotonic() > deadline_s:
            raise CopyFailed(f"what is left to copy takes longer than {limit_s:.1f} s")

    yield check
