"""Bringing a copy up to date: what has come about in the live database since the last look.

What a look takes follows from what has come about, not from what is there: rows are found where
DuckDB's least and greatest values of each few thousand rows let it leave the others unread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
_ALL = -(1 << 62)
_SECOND_NS = 1_000_000_000
_NEAR_SEQS = 20_000
"""Rather than to ask once more, what lies between is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growing:
    """A table that grows in the order of a column: of a number, or of a time in nanoseconds.

    Commits may be out of that order by `late` at most. Of its rows, which `key` names, some are
    deleted again; of one without a key none. To find these, rows are counted in blocks.
    """

    name: str
    column: str
    is_time: bool = False
    late: int = 0
    key: tuple[str, ...] = ()
    block: int = 1 << 16

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


class Grown:
    """What was added to a table, and deleted from it again, since the last look."""

    def __init__(self, table: Growing) -> None:
        self._table = table
        self._mark = _ALL
        self._looked = False

    def follow(self, source: duckdb.DuckDBPyConnection, copy: Copy) -> None:
        """Make the copy's table equal to that of the source."""
        if self._table.key and self._looked:
            self._drop_deleted(source, copy)
        self._take_added(source, copy)
        self._looked = True

    def _take_added(self, source: duckdb.DuckDBPyConnection, copy: Copy) -> None:
        """Copy what lies after the mark, then set that to where nothing is going to come before."""
        table = self._table
        if not self._looked:
            copy.take(source, table.name)
        else:
            if table.late:
                copy.drop(table.name, table.after, [self._mark])
            copy.take(source, table.name, table.after, [self._mark])
        self._mark = max(self._mark, _last(source, table) - table.late)

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
    """What was made of traces that were finished, or finished again, since the last look."""

    def __init__(self) -> None:
        self._mark: int | None = None

    def follow(self, source: duckdb.DuckDBPyConnection, copy: Copy) -> None:
        """Make the copy's tables equal to those of the source, and its older results superseded.

        Before results are taken that the revisions do not supersede.
        """
        if self._mark is None:
            for table in BY_TRACE:
                copy.take(source, table)
        else:
            revisions = source.execute(statement("revisions_after"), [self._mark]).fetchall()
            _supersede(copy, [key for key in revisions if key[1] > 1])
            for group in _near(revisions):
                _take_revisions(source, copy, group)
        self._mark = _last(source, Growing(name="traces", column="position"))


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
    """Return the number of the last row; one below all where there is none."""
    last = f"max(t.{table.column})"
    number = f"epoch_ns({last})" if table.is_time else last
    row = source.execute(f"SELECT coalesce({number}, {_ALL}) FROM base.{table.name} AS t")
    found = row.fetchone()
    return int(found[0]) if found else _ALL


def _blocks(connection: duckdb.DuckDBPyConnection, table: Growing, upto: int) -> dict[int, int]:
    """Return how many rows up to a number lie in each block of numbers."""
    rows = connection.execute(
        f"SELECT {table.number} // {table.block}, count(*) FROM base.{table.name} AS t "
        f"WHERE {table.upto} GROUP BY ALL",
        [upto],
    ).fetchall()
    return dict(rows)
