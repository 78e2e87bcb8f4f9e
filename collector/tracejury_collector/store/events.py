"""What is new: traces as they begin and are finished, results as they are committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import duckdb
import orjson

from tracejury_collector.session_ids import session_target
from tracejury_collector.store.database import Database
from tracejury_collector.store.exports import last_position
from tracejury_collector.store.finished_ids import FinishedIds
from tracejury_collector.store.reads import (
    checked_where,
    execute_where,
)
from tracejury_collector.store.statements import Row, fetch_rows, statement
from tracejury_collector.store.trace_pages import finished_once, show_traces

Place = tuple[int, ...]
"""How far was told: of results their position; of traces the position of the last revision, and the
first seq of the last one that was never finished."""

PAGE = 200
"""Most records that one look takes, those that are filtered out too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvents:
    """Which traces are told; None does not filter."""

    service: str | None = None
    project: str | None = None
    session_id: str | None = None
    where: str | None = None

    def checked(self) -> TraceEvents:
        """Return the same with a condition fit to stand in parentheses.

        Raises: SqlRefused saying that it is the parameter `where`.
        """
        if self.where is None:
            return self
        return replace(self, where=checked_where(self.where, "traces"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultEvents:
    """Which results are told; None does not filter."""

    project: str | None = None
    evaluator: str | None = None
    rule: str | None = None
    outcome: str | None = None
    verdict: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """The next records, each with the place behind it, and the place behind all looked at."""

    rows: Sequence[tuple[Place, Row]]
    place: Place
    more: bool


def newest_traces(db: Database) -> Place:
    """Return the place behind all traces so far."""
    newest = db.rows("newest_traces")[0]
    return newest["finished"], newest["seq"]


def next_traces(db: Database, place: Place, wanted: TraceEvents) -> News:
    """Return the traces that began or were finished after a place, as they stand now.

    `wanted` is checked. A trace that late spans have opened again is told when it is finished.
    Raises: SqlRefused if its condition does not run, or runs too long; Unavailable.
    """
    finished_before, seq_before = place
    params = {**asdict(wanted), "limit": PAGE}
    condition = params.pop("where")
    with db.read() as cursor:
        cursor.execute(statement("traces_begun_after"), params | {"seq": seq_before})
        begun: list[tuple[int, str, bool]] = cursor.fetchall()
        after = params | {"finished": finished_before}
        cursor.execute(statement("traces_finished_after"), after)
        finished: list[tuple[int, int, bool]] = cursor.fetchall()
        chosen = _never_finished(cursor, db.finished, [row[:2] for row in begun if row[2]])
        chosen += [seq for _, seq, is_wanted in finished if is_wanted]
        shown = _shown(cursor, db.finished, chosen, condition)
    told: list[tuple[Place, int]] = [((finished_before, seq), seq) for seq, *_ in begun]
    last_seq = begun[-1][0] if begun else seq_before
    told += [((position, last_seq), first_seq) for position, first_seq, _ in finished]
    return News(
        rows=[(at, shown[first_seq]) for at, first_seq in told if first_seq in shown],
        place=told[-1][0] if told else place,
        more=PAGE in (len(begun), len(finished)),
    )


def _never_finished(
    cursor: duckdb.DuckDBPyConnection, known: FinishedIds, begun: Sequence[tuple[int, str]]
) -> list[int]:
    """Return where the traces begin that are not told of as revisions."""
    finished = finished_once(cursor, known, [trace_id for _, trace_id in begun])
    return [seq for seq, trace_id in begun if trace_id not in finished]


def _shown(
    cursor: duckdb.DuckDBPyConnection,
    known: FinishedIds,
    first_seqs: Sequence[int],
    condition: str | None,
) -> dict[int, Row]:
    """Return the traces that begin there and fulfil the condition, by where they begin."""
    if first_seqs and condition is not None:
        bounds = {
            "low": min(first_seqs),
            "high": max(first_seqs),
            "first_seqs": orjson.dumps(first_seqs).decode(),
        }
        sql = statement("traces_that_match").replace("(true)", f"({condition})")
        first_seqs = [seq for (seq,) in execute_where(cursor, sql, bounds, condition)]
    return {row["first_seq"]: row for row in show_traces(cursor, known, first_seqs)}


def newest_results(db: Database) -> Place:
    """Return the place behind all results so far."""
    return (last_position(db),)


def next_results(db: Database, place: Place, wanted: ResultEvents) -> News:
    """Return the results on current revisions that were committed after a place.

    Raises: Unavailable.
    """
    params: dict[str, Any] = {**asdict(wanted), "after": place[0], "limit": PAGE}
    project = params.pop("project")
    with db.read() as cursor:
        rows = fetch_rows(cursor.execute(statement("results_after"), params))
        told: list[tuple[Place, Row]] = [((row.pop("position"),), row) for row in rows]
        chosen = [(at, row) for at, row in told if row.pop("is_wanted")]
        if project is not None:
            places = _places_in_project(cursor, project, [row for _, row in chosen])
            chosen = [chosen[n] for n in places]
    return News(
        rows=chosen,
        place=told[-1][0] if told else place,
        more=len(told) == PAGE,
    )


def _places_in_project(
    cursor: duckdb.DuckDBPyConnection, project: str, results: Sequence[Row]
) -> list[int]:
    """Return which of the results are on traces and sessions of a project."""
    ids = orjson.dumps([row["trace_id"] for row in results]).decode()
    cursor.execute(statement("traces_in_project"), {"project": project, "trace_ids": ids})
    known = {trace_id for (trace_id,) in cursor.fetchall()}
    sessions = session_target(project, "")
    return [
        n
        for n, row in enumerate(results)
        if row["trace_id"] in known or row["target_id"].startswith(sessions)
    ]
