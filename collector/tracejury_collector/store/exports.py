"""Results on their way out: which come next, and how far an export has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import orjson

from tracejury_collector.store.database import Database
from tracejury_collector.store.statements import fetch_rows, statement

BEGINNING = -(1 << 62)
"""Before the position of every result."""

ERROR_CHARACTERS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """One result with what is known of its target; span_id "": no root, trace_id "": no trace."""

    position: int
    decision_id: str
    evaluator: str
    type: str
    fingerprint: str
    criteria_hash: str
    target_kind: str
    target_id: str
    trace_id: str
    span_id: str = ""
    revision: int
    rule: str
    run_id: str
    outcome: str
    score: float | None
    verdict: str | None
    reason: str
    error_type: str | None
    created_at_ns: int
    superseded: bool
    project: str
    session_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which results an export takes: after a position, of these outcomes, of these rules."""

    after: int
    limit: int
    outcomes: Sequence[str]
    rules: Sequence[str] | None
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPage:
    """The next results, and the position up to which there are no others."""

    results: Sequence[ExportResult]
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportMark:
    """How far an export has come; `dropped` were left out of a backlog that was too long."""

    name: str
    position: int
    sent: int = 0
    rejected: int = 0
    dropped: int = 0
    last_sent_at_ns: int | None = None
    failing_since_ns: int | None = None
    last_error: str | None = None


def find_mark(db: Database, name: str) -> ExportMark | None:
    """Return how far the export has come, None if it never began."""
    rows = db.rows("find_export", {"name": name})
    return ExportMark(**rows[0]) if rows else None


def last_position(db: Database) -> int:
    """Return the position of the newest result, 0 without any."""
    return int(db.rows("last_position")[0]["position"])


def position_before(db: Database, keep: int) -> int:
    """Return the position after which there are `keep` results, the beginning if never more."""
    rows = db.rows("position_before", {"keep": keep})
    return int(rows[0]["position"]) if rows else BEGINNING


def count_after(db: Database, position: int) -> int:
    """Return how many results come after a position."""
    return int(db.rows("count_after", {"after": position})[0]["results"])


def next_results(db: Database, wanted: Wanted) -> ExportPage:
    """Return the results that come next, in the order of their commits."""
    with db.read() as cursor:
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        try:
            return _next_results(cursor, wanted)
        finally:
            cursor.execute("COMMIT")


def _next_results(cursor: duckdb.DuckDBPyConnection, wanted: Wanted) -> ExportPage:
    newest = fetch_rows(cursor.execute(statement("last_position")))[0]["position"]
    bounds = {
        "after": wanted.after,
        "upto": newest,
        "limit": wanted.limit,
        "characters": wanted.characters,
        "outcomes": orjson.dumps(wanted.outcomes).decode(),
        "rules": None if wanted.rules is None else orjson.dumps(wanted.rules).decode(),
    }
    rows = fetch_rows(cursor.execute(statement("next_results"), bounds))
    roots = _roots(cursor, rows)
    results = [_result(row, roots) for row in rows]
    full = len(results) == wanted.limit
    return ExportPage(results=results, upto=results[-1].position if full else newest)


def _roots(cursor: duckdb.DuckDBPyConnection, rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return the root span of each trace that has one."""
    known = [row for row in rows if row["first_seq"] is not None]
    if not known:
        return {}
    bounds = {
        "trace_ids": orjson.dumps(list({row["trace_id"] for row in known})).decode(),
        "low": min(row["first_seq"] for row in known),
        "high": max(row["last_seq"] for row in known),
    }
    return dict(cursor.execute(statement("root_spans"), bounds).fetchall())


def _result(row: dict[str, Any], roots: dict[str, str]) -> ExportResult:
    kept = {name: row[name] for name in row if name not in ("first_seq", "last_seq")}
    return ExportResult(**kept, span_id=roots.get(row["trace_id"], ""))


class MarkWrite:
    """The write of how far an export has come."""

    def __init__(self, mark: ExportMark) -> None:
        self._row = (
            mark.name,
            mark.position,
            mark.sent,
            mark.rejected,
            mark.dropped,
            mark.last_sent_at_ns,
            mark.failing_since_ns,
            mark.last_error[:ERROR_CHARACTERS] if mark.last_error else None,
        )

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(statement("delete_export"), [self._row[0]])
        connection.execute(statement("insert_export"), self._row)
