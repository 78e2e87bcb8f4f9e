"""Bringing a copy up to date: what has come about in the live database since the last look.

What a look takes follows from what has come about, not from what is there: rows are found where
DuckDB's least and greatest values of each few thousand rows let it leave the others unread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

import duckdb
import pyarrow as pa

from tracejury_collector.store.columns import BIGINT, TEXT, arrow_table
from tracejury_collector.store.copying import Copy, count
from tracejury_collector.store.registered import registered
from tracejury_collector.store.statements import statement

BY_TRACE: Final = ("traces", "tool_calls", "llm_calls", "messages", "documents")
"""Written when a trace is finished, marked as superseded when it is finished again."""

_SUPERSEDE: Final = (*(f"supersede_{table}" for table in BY_TRACE), "supersede_results")
_NONE = -(1 << 62)
_SECOND_NS = 1_000_000_000
_NEAR_SEQS = 20_000
"""Rather than to ask once more, what lies between is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growing:
    """A table that grows in the order of a column: of a number, or of a time in nanoseconds.

    Commits may be out of that order by `late` at most. Of its rows, which `key` names, some are
    deleted again; of one without a key none. To find these, rows are counted in blocks. So many
    rows as a `part` has are copied at a time.
    """

    name: str
    column: str
    is_time: bool = False
    late: int = 0
    key: tuple[str, ...] = ()
    block: int = 1 << 16
    part: int = 1 << 15

    @property
    def number(self) -> str:
        """The order as a number, in SQL."""
        return f"epoch_ns(t.{self.column})" if self.is_time else f"t.{self.column}"

    @property
    def after(self) -> str:
        """What holds for rows after a number."""
        return f"t.{self.column} > {self._bound}"

    @property
    def upto(self) -> str:
        """What holds for rows up to a number."""
        return f"t.{self.column} <= {self._bound}"

    @property
    def _bound(self) -> str:
        # Compared as it is stored: otherwise all of the column would be read.
        return "make_timestamp_ns(?::BIGINT)" if self.is_time else "?"


def _timed(name: str, column: str, *key: str) -> Growing:
    late = 60 * _SECOND_NS
    return Growing(name=name, column=column, is_time=True, late=late, key=key, block=late)


GROWING: Final = (
    Growing(name="spans", column="seq", key=("seq",)),
    Growing(name="logs", column="seq", key=("seq",)),
    Growing(name="results", column="position"),
    Growing(name="decisions", column="decided_at", is_time=True),
    _timed("attempts", "started_at", "decision_id", "evaluator", "n"),
    _timed("labels", "received_at", "label_id"),
    _timed("audit", "created_at", "audit_id"),
)


Read = Callable[[], AbstractContextManager[duckdb.DuckDBPyConnection]]
"""Gives what to read the live database with. It is held for no longer than a part takes: while
anybody reads, the log of what is written cannot be taken into the file, and grows.
"""


_REVISIONS: Final = Growing(name="traces", column="position", part=1 << 12)


class Grown:
    """What was added to a table, and deleted from it again, since the last look."""

    def __init__(self, table: Growing) -> None:
        self._table = table
        self._mark = _NONE

    def last(self, source: duckdb.DuckDBPyConnection) -> int:
        """Return the number of the last row there is."""
        return _last(source, self._table)

    def follow(self, read: Read, copy: Copy, last: int) -> None:
        """Make the copy equal to the source up to the row of that number.

        What may yet be committed out of order is left.
        """
        table = self._table
        if table.key and self._mark > _NONE:
            with read() as source:
                self._drop_deleted(source, copy)
        if table.late:
            copy.drop(table.name, table.after, [self._mark])  # what `finish` has copied
        for ends in self._parts(read, last - table.late):
            with read() as source:
                copy.take(source, table.name, f"{table.after} AND {table.upto}", ends)
            self._mark = ends[1]
            copy.let_go()

    def finish(self, source: duckdb.DuckDBPyConnection, copy: Copy) -> None:
        """Copy what is left after `follow`."""
        if self._table.late:
            copy.take(source, self._table.name, self._table.after, [self._mark])

    def _parts(self, read: Read, last: int) -> Iterator[tuple[int, int]]:
        with read() as source:
            first = max(self._mark, _first(source, self._table) - 1)
        yield from parts(read, self._table, first, last)

    def _drop_deleted(self, source: duckdb.DuckDBPyConnection, copy: Copy) -> None:
        table = self._table
        if self._count(source) == self._count(copy.target):
            return
        old, new = (_blocks(c, table, self._mark) for c in (source, copy.target))
        for block in new:
            if old.get(block) != new[block]:
                self._drop_in_block(source, copy, block)

    def _count(self, connection: duckdb.DuckDBPyConnection) -> int:
        return count(connection, self._table.name, self._table.upto, [self._mark])

    def _drop_in_block(self, source: duckdb.DuckDBPyConnection, copy: Copy, block: int) -> None:
        table = self._table
        ends = [block * table.block - 1, min(self._mark, (block + 1) * table.block - 1)]
        within = f"{table.after} AND {table.upto}"
        kept = source.execute(
            f"SELECT {', '.join(table.key)} FROM base.{table.name} AS t WHERE {within}", ends
        ).to_arrow_table()
        same = " AND ".join(f"k.{name} = t.{name}" for name in table.key)
        with registered(copy.target, kept=kept):
            gone = f"NOT EXISTS (FROM kept AS k WHERE {same})"
            copy.drop(table.name, f"{within} AND {gone}", ends)


class Finished:
    """What was made of traces that were finished, or finished again, since the last look.

    It is followed before results are, which revisions supersede: those of later ones come after.
    """

    def __init__(self) -> None:
        self._mark = _NONE

    def last(self, source: duckdb.DuckDBPyConnection) -> int:
        """Return the position of the last revision there is."""
        return _last(source, _REVISIONS)

    def follow(self, read: Read, copy: Copy, last: int) -> None:
        """Make the copy equal to the source up to the revision of that position."""
        with read() as source:
            first = max(self._mark, _first(source, _REVISIONS) - 1)
        for ends in parts(read, _REVISIONS, first, last):
            with read() as source:
                revisions = source.execute(statement("revisions_between"), ends).fetchall()
                _supersede(copy, [revision for revision in revisions if revision[1] > 1])
                for group in _near(revisions):
                    _take_revisions(source, copy, group)
            self._mark = ends[1]
            copy.let_go()


def parts(read: Read, table: Growing, after: int, upto: int) -> Iterator[tuple[int, int]]:
    """Yield the ends of parts of a table between two numbers, each of so few rows that copying it
    does not take long; nothing where there are no rows.
    """
    if after >= upto:
        return
    with read() as source:
        rows = count(source, table.name, f"{table.after} AND {table.upto}", [after, upto])
    if rows <= table.part or upto - after <= 1:
        if rows:
            yield after, upto
        return
    middle = (after + upto) // 2
    yield from parts(read, table, after, middle)
    yield from parts(read, table, middle, upto)


def supersede_sessions(source: duckdb.DuckDBPyConnection, copy: Copy) -> None:
    """Mark the results of the copy that sessions have superseded which were finished again."""
    marked = "t.superseded AND t.target_kind = 'session'"
    if count(source, "results", marked) == count(copy.target, "results", marked):
        return
    rows = source.execute(
        f"SELECT t.position FROM base.results AS t WHERE {marked}"
    ).to_arrow_table()
    with registered(copy.target, superseding=rows):
        copy.target.execute(
            "UPDATE base.results SET superseded = true "
            "WHERE NOT superseded AND position IN (SELECT s.position FROM superseding AS s)"
        )


_Revision = tuple[str, int, int]
"""Of which trace, the how-manieth, and where the trace begins."""


def _supersede(copy: Copy, revisions: Sequence[_Revision]) -> None:
    """Mark in the copy what these revisions, which are not in it yet, have superseded."""
    if not revisions:
        return
    with registered(copy.target, superseding=_table(revisions)):
        for name in _SUPERSEDE:
            copy.target.execute(statement(name))


def _take_revisions(
    source: duckdb.DuckDBPyConnection, copy: Copy, revisions: Sequence[_Revision]
) -> None:
    """Copy revisions whose traces begin near to each other."""
    ends = [min(at for _, _, at in revisions), max(at for _, _, at in revisions)]
    among = (
        "t.first_seq BETWEEN ? AND ? AND EXISTS (FROM taking AS r "
        "WHERE r.trace_id = t.trace_id AND r.revision = t.revision)"
    )
    with registered(source, taking=_table(revisions)):
        for table in BY_TRACE:
            copy.take(source, table, among, ends)


def _near(revisions: Iterable[_Revision]) -> list[list[_Revision]]:
    """Return the revisions in groups, between whose beginnings there is little else."""
    groups: list[list[_Revision]] = []
    for revision in sorted(revisions, key=lambda r: r[2]):
        if groups and revision[2] <= groups[-1][-1][2] + _NEAR_SEQS:
            groups[-1].append(revision)
        else:
            groups.append([revision])
    return groups


def _table(revisions: Sequence[_Revision]) -> pa.Table:
    return arrow_table({"trace_id": TEXT, "revision": BIGINT, "first_seq": BIGINT}, revisions)


def _last(source: duckdb.DuckDBPyConnection, table: Growing) -> int:
    return _end(source, table, "max")


def _first(source: duckdb.DuckDBPyConnection, table: Growing) -> int:
    return _end(source, table, "min")


def _end(source: duckdb.DuckDBPyConnection, table: Growing, aggregate: str) -> int:
    """Return the number of the first or last row; one below all where there is none."""
    end = f"{aggregate}(t.{table.column})"
    number = f"epoch_ns({end})" if table.is_time else end
    row = source.execute(f"SELECT coalesce({number}, {_NONE}) FROM base.{table.name} AS t")
    found = row.fetchone()
    return int(found[0]) if found else _NONE


def _blocks(connection: duckdb.DuckDBPyConnection, table: Growing, upto: int) -> dict[int, int]:
    """Return how many rows up to a number lie in each block of numbers."""
    rows = connection.execute(
        f"SELECT {table.number} // {table.block}, count(*) FROM base.{table.name} AS t "
        f"WHERE {table.upto} GROUP BY ALL",
        [upto],
    ).fetchall()
    return dict(rows)
