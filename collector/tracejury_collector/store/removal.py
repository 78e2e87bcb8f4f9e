"""Deleting what is stored of traces, in writes so short that nothing else waits for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import duckdb
import orjson
import pyarrow as pa

from tracejury_collector.store.columns import TEXT, arrow_table
from tracejury_collector.store.database import Database
from tracejury_collector.store.registered import registered
from tracejury_collector.store.statements import statement

WRITE_ROWS = 4096
"""Rows that one write deletes: a few tens of milliseconds in which nothing is stored."""

_MADE: Final = ("messages", "documents", "tool_calls", "llm_calls")
_ARRIVED: Final = ("logs", "spans")
"""A label on a trace may have come before the trace begins, and after it ended."""
_KEYS: Final = {
    "attempts": "decision_id",
    "decisions": "target_id",
    "session_revisions": "target_id",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutoffs:
    """Below what number something is old: by project, and for all others."""

    projects: Mapping[str, int]
    default: int

    @property
    def as_json(self) -> str:
        """The projects as the statements read them."""
        return orjson.dumps(list(self.projects.items())).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class OldTrace:
    """A trace that is to be deleted, which begins at `first_seq`."""

    trace_id: str
    span_count: int
    first_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Between what sequence numbers traces begin, for those that lie together."""

    low: int = -(1 << 63)
    high: int = (1 << 63) - 1

    @classmethod
    def of(cls, traces: Iterable[OldTrace]) -> Places:
        """Return where the traces begin; there must be one."""
        begin = sorted(trace.first_seq for trace in traces)
        return cls(low=begin[0], high=begin[-1])


ANYWHERE: Final = Places()


def first_seq_since(db: Database, at_ns: int) -> int:
    """Return the first sequence number received at that time or later, above all without any."""
    return int(db.rows("seq_received_at", {"at_ns": at_ns})[0]["seq"])


def traces_past_spans(db: Database, cutoffs: Cutoffs, limit: int) -> list[OldTrace]:
    """Return the oldest traces whose last arrival lies below these sequence numbers."""
    params = {"cutoffs": cutoffs.as_json, "default_seq": cutoffs.default, "limit": limit}
    return [OldTrace(**row) for row in db.rows("traces_past_spans", params)]


def traces_past_results(db: Database, cutoffs: Cutoffs, limit: int) -> list[OldTrace]:
    """Return the oldest traces that were finished before these times."""
    params = {"cutoffs": cutoffs.as_json, "default_ns": cutoffs.default, "limit": limit}
    return [OldTrace(**row) for row in db.rows("traces_past_results", params)]


def sessions_past_results(db: Database, cutoffs: Cutoffs, limit: int) -> list[str]:
    """Return the targets of sessions without traces that were finished before these times."""
    params = {"cutoffs": cutoffs.as_json, "default_ns": cutoffs.default, "limit": limit}
    return [row["target_id"] for row in db.rows("sessions_past_results", params)]


def remove_arrivals(db: Database, traces: Sequence[OldTrace], found_ns: int, why: str) -> None:
    """Delete what arrived of the traces, and what was made of it; their rows stay, marked.

    The mark comes last, so that whoever is interrupted finds the same traces again. Revisions made
    after `found_ns` are not marked: they hold what came since.
    """
    trace_ids = [trace.trace_id for trace in traces]
    _remove_arrived(db, trace_ids, Places.of(traces))
    removing = _ids(trace_ids)

    def mark(connection: duckdb.DuckDBPyConnection) -> None:
        with registered(connection, removing=removing):
            connection.execute(statement("mark_spans_deleted"), {"found_ns": found_ns})
        db.tally("deleted", **{why: len(trace_ids)})

    db.write(mark).result()


def remove_traces(
    db: Database, trace_ids: Sequence[str], why: str, places: Places = ANYWHERE
) -> None:
    """Delete everything about the traces; their rows go last."""
    _remove_arrived(db, trace_ids, places)
    remove_judgements(db, trace_ids, places)
    _remove(db, "labels", trace_ids)
    _remove(db, "traces", trace_ids, places=places)
    db.write(lambda _: db.tally("deleted", **{why: len(trace_ids)})).result()


def remove_judgements(db: Database, target_ids: Sequence[str], places: Places = ANYWHERE) -> None:
    """Delete decisions on traces or sessions, and what followed from them."""
    with db.read() as cursor, registered(cursor, removing=_ids(target_ids)):
        decided = cursor.execute(statement("decisions_on_targets")).fetchall()
    _remove(db, "attempts", [decision_id for (decision_id,) in decided])
    _remove(db, "results", target_ids, "target_id", places)
    _remove(db, "decisions", target_ids, places=places)


def remove_sessions(db: Database, target_ids: Sequence[str]) -> None:
    """Delete what was made of sessions, and what was judged of them."""
    remove_judgements(db, target_ids)
    _remove(db, "session_revisions", target_ids)


def forget_labels(db: Database, before_ns: int) -> None:
    """Delete labels from before that time on what is not there."""
    params = {"before_ns": before_ns}
    db.write(lambda c: c.execute(statement("forget_labels"), params).fetchall()).result()


def _remove_arrived(db: Database, trace_ids: Sequence[str], places: Places) -> None:
    for table in _MADE:
        _remove(db, table, trace_ids, places=places)
    for table in _ARRIVED:
        _remove(db, table, trace_ids)


def _remove(
    db: Database, table: str, ids: Sequence[str], key: str = "", places: Places = ANYWHERE
) -> int:
    """Delete the rows of a table whose key is one of the ids; return how many there were."""
    if not ids:
        return 0
    key = key or _KEYS.get(table, "trace_id")
    removing = _ids(ids)
    removed = 0
    while True:
        with db.read() as cursor, registered(cursor, removing=removing):
            found = _find(cursor, table, key, places)
        now = sum(_remove_between(db, table, key, removing, *ends) for ends in _slices(found))
        removed += now
        # A checkpoint may have moved rows in between: then these are looked for again.
        if now >= len(found):
            return removed


def _find(cursor: duckdb.DuckDBPyConnection, table: str, key: str, places: Places) -> list[int]:
    """Return where in the table the rows lie whose key is in `removing`."""
    if places is ANYWHERE:
        rows = cursor.execute(_on(table, key, "find_rows"))
    else:
        bounds = {"low": places.low, "high": places.high}
        rows = cursor.execute(_on(table, key, "find_rows_between"), bounds)
    found: list[int] = rows.fetchnumpy()["rowid"].tolist()
    return found


def _remove_between(
    db: Database, table: str, key: str, removing: pa.Table, low: int, high: int
) -> int:
    def remove(connection: duckdb.DuckDBPyConnection) -> int:
        with registered(connection, removing=removing):
            bounds = {"low": low, "high": high}
            row = connection.execute(_on(table, key, "remove_rows"), bounds).fetchone()
        return int(row[0]) if row else 0

    return db.write(remove).result()


def _slices(rowids: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the ends of runs of places, each with as many as one write deletes."""
    for start in range(0, len(rowids), WRITE_ROWS):
        part = rowids[start : start + WRITE_ROWS]
        yield part[0], part[-1]


def _on(table: str, key: str, name: str) -> str:
    """Return a statement about spans for another of our own tables."""
    return statement(name).replace("base.spans", f"base.{table}").replace("t.trace_id", f"t.{key}")


def _ids(ids: Sequence[str]) -> pa.Table:
    return arrow_table({"id": TEXT}, [(one,) for one in ids])
