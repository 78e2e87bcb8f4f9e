"""Finished traces as targets of a run: found page by page, newest first, by where they begin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import duckdb
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tracejury_collector.store.columns import INTEGER, TEXT, arrow_table
from tracejury_collector.store.reads import checked_where, execute_where
from tracejury_collector.store.registered import registered
from tracejury_collector.store.statements import statement

NO_SEQ = (1 << 63) - 1
"""Above every sequence number."""

_EVERYTHING = "true"
_SEQS_A_TARGET = 16
_WIDER = 8
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFilter:
    """Which targets a run looks at; None does not filter. `until_ns` is excluded.

    `where` is a condition over the view `traces`, or `sessions`, checked when it is used. Times are
    those of traces; a session is looked at where one of its traces started in between.
    """

    where: str = _EVERYTHING
    trace_ids: tuple[str, ...] | None = None
    since_ns: int | None = None
    until_ns: int | None = None

    def params(self) -> dict[str, object]:
        """Return what the statements read."""
        ids = None if self.trace_ids is None else orjson.dumps(self.trace_ids).decode()
        return {"trace_ids": ids, "since_ns": self.since_ns, "until_ns": self.until_ns}


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Current revisions, newest first: `facts` are their rows of `base.traces`, None without any.

    `examined` counts the traces that were looked at for them; all of these begin at `low_seq` or
    later. Nothing is left where `examined` is 0.
    """

    facts: pa.Table | None
    examined: int
    low_seq: int
    high_seq: int

    def wanted(self) -> pa.Table:
        """Return the keys of the targets."""
        columns = {"target_kind": TEXT, "target_id": TEXT, "revision": INTEGER}
        return arrow_table(columns, [("trace", *key) for key in self._keys()])

    def _keys(self) -> list[tuple[str, int]]:
        if self.facts is None:
            return []
        columns = (self.facts.column(name).to_pylist() for name in ("trace_id", "revision"))
        return list(zip(*columns, strict=True))

    def are_current(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Return whether none of them has a newer revision by now."""
        if self.facts is None:
            return True
        with registered(connection, wanted_targets=self.wanted()):
            bounds = {"low": self.low_seq, "high": self.high_seq}
            row = connection.execute(statement("current_targets"), bounds).fetchone()
        return row is not None and row[0] == self.facts.num_rows

    def write(self, connection: duckdb.DuckDBPyConnection, now_ns: int) -> None:
        """Do nothing: revisions of traces are there."""


def count_targets(
    cursor: duckdb.DuckDBPyConnection, wanted: TargetFilter, before_seq: int = NO_SEQ
) -> tuple[int, int]:
    """Return (how many traces a run looks at, where the newest of them begins, else -1)."""
    params = {**wanted.params(), "before_seq": before_seq, "from_seq": 0}
    row = cursor.execute(statement("count_targets"), params).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def next_targets(
    cursor: duckdb.DuckDBPyConnection,
    wanted: TargetFilter,
    before_seq: int,
    limit: int,
    *,
    with_texts: bool = True,
) -> Targets:
    """Return the next targets among the `limit` newest traces that begin before `before_seq`.

    `with_texts` says whether input and output are of interest; they are NULL otherwise.

    Raises: SqlRefused where the condition is not allowed, does not run, or runs too long.
    """

    def read(low_seq: int) -> list[tuple[int]]:
        window = {"low_seq": low_seq, "before_seq": before_seq, "limit": limit}
        return cursor.execute(statement("next_targets"), {**wanted.params(), **window}).fetchall()

    seqs = [seq for (seq,) in widening(read, before_seq, limit)]
    if not seqs:
        return Targets(facts=None, examined=0, low_seq=0, high_seq=0)
    chosen = _chosen(cursor, wanted.where, seqs)
    facts = _facts(cursor, chosen, with_texts=with_texts) if chosen else None
    return Targets(facts=facts, examined=len(seqs), low_seq=seqs[-1], high_seq=seqs[0])


def widening(read: Callable[[int], list[T]], before_seq: int, limit: int) -> list[T]:
    """Return `limit` rows from below `before_seq`, all there are if these are fewer.

    `read` gives rows from a sequence number on. It is asked for ever wider windows, so that neither
    rows close together nor far apart take a look at everything.
    """
    width = limit * _SEQS_A_TARGET
    while True:
        low_seq = max(0, before_seq - width) if before_seq < NO_SEQ else 0
        rows = read(low_seq)
        if len(rows) == limit or not low_seq:
            return rows
        width *= _WIDER


def known_traces(cursor: duckdb.DuckDBPyConnection, trace_ids: Iterable[str]) -> set[str]:
    """Return those of the ids that belong to finished traces."""
    ids = arrow_table({"trace_id": TEXT}, [(trace_id,) for trace_id in trace_ids])
    with registered(cursor, wanted_traces=ids):
        return {row[0] for row in cursor.execute(statement("finished_traces")).fetchall()}


def judged_already(
    cursor: duckdb.DuckDBPyConnection, keys: pa.Table, identities: Iterable[str]
) -> dict[str, set[str]]:
    """Return by target id which of the evaluators have judged it, or are about to.

    `keys` are those that targets say are `wanted`.

    What broke counts as not judged.
    """
    wanted = set(identities)
    if not keys.num_rows or not wanted:
        return {}
    prints = arrow_table({"fingerprint": TEXT}, [(i.partition("+")[0],) for i in wanted])
    with registered(cursor, wanted_targets=keys, wanted_fingerprints=prints):
        rows = cursor.execute(statement("judged_targets")).fetchall()
    found: dict[str, set[str]] = {}
    for target_id, identity in rows:
        if identity in wanted:
            found.setdefault(target_id, set()).add(identity)
    return found


def _chosen(cursor: duckdb.DuckDBPyConnection, where: str, seqs: Sequence[int]) -> list[int]:
    """Return those of the traces that begin here for which the condition holds."""
    if where.strip().lower() == _EVERYTHING:
        return list(seqs)
    expression = checked_where(where, "traces")
    sql = statement("targets_where").replace("(true)", f"({expression})")
    return [row[0] for row in execute_where(cursor, sql, _places(seqs), expression)]


def _facts(cursor: duckdb.DuckDBPyConnection, seqs: Sequence[int], *, with_texts: bool) -> pa.Table:
    """Return the traces that begin here, newest first."""
    name = "load_targets" if with_texts else "load_targets_without_texts"
    bounds = {"low": min(seqs), "high": max(seqs)}
    found = cursor.execute(statement(name), bounds).to_arrow_table()
    if found.num_rows != len(seqs):
        found = found.filter(pc.is_in(found.column("first_seq"), pa.array(seqs, pa.int64())))
    return found.sort_by([("first_seq", "descending")])


def _places(seqs: Sequence[int]) -> dict[str, object]:
    # As JSON: DuckDB takes long over a parameter that is a long list.
    return {"low": min(seqs), "high": max(seqs), "first_seqs": orjson.dumps(seqs).decode()}
