"""What the API reads of sessions: pages of them, and one with its traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import duckdb
import orjson

from tracejury_collector.store.database import Database
from tracejury_collector.store.reads import (
    checked_where,
    execute_where,
)
from tracejury_collector.store.statements import Row, fetch_rows, statement
from tracejury_collector.store.trace_pages import LIST_CHARACTERS, show_traces

SESSION_CHARACTERS = 4000
"""Characters of an input or output that a session shows."""
_LOOK_TRACES = 512
_LOOK_FACTOR = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Which sessions a page holds; None does not filter. `until_ns` is excluded.

    A session is on it where one of its traces is of that service and user and started in between.
    `ceiling_ns` is the moment that the first page was made; `before_*` name the last one seen.
    """

    project: str | None = None
    service: str | None = None
    user_id: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    ceiling_ns: int | None = None
    before_ns: int | None = None
    before_seq: int | None = None
    limit: int = 50

    @property
    def is_filtered(self) -> bool:
        """Whether it chooses by more than the place in the list."""
        chosen = (self.project, self.service, self.user_id, self.since_ns, self.until_ns)
        return any(value is not None for value in chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a session stands in a list: the cursor after it."""

    ceiling_ns: int
    active_ns: int
    newest_seq: int


def list_sessions(
    db: Database, wanted: SessionFilter, where: str | None = None
) -> list[tuple[Place, Row]]:
    """Return sessions, latest activity first, each with its place.

    Raises: SqlRefused if `where` is not an allowed expression over the view `sessions`, does not
    run, or runs too long.
    """
    condition = None if where is None else checked_where(where, "sessions")
    with db.read() as cursor:
        ceiling_ns = wanted.ceiling_ns or _last_finished_ns(cursor)
        if ceiling_ns is None:
            return []
        params = {**asdict(wanted), "ceiling_ns": ceiling_ns}
        if condition is None and not wanted.is_filtered:
            chosen = _choose_latest(cursor, params)
        else:
            chosen = _choose(cursor, {**params, "floor_ns": 0}, condition)
        shown = _show(cursor, [session_id for session_id, *_ in chosen], LIST_CHARACTERS)
    return [
        (Place(ceiling_ns=ceiling_ns, active_ns=active_ns, newest_seq=seq), shown[key])
        for *key_parts, active_ns, seq in chosen
        if (key := tuple(key_parts)) in shown
    ]


def find_session(db: Database, session_id: str) -> list[Row]:
    """Return the session in each project that has one of this id, latest activity first."""
    with db.read() as cursor:
        found = _show(cursor, [session_id], SESSION_CHARACTERS).values()
    return sorted(found, key=lambda row: (-(row["end_time_ns"] or 0), row["project"]))


def traces_of_session(db: Database, session_id: str, project: str, limit: int) -> list[Row]:
    """Return its latest traces, at most `limit`, in order of start."""
    key = {"session_id": session_id, "project": project, "limit": limit}
    with db.read() as cursor:
        chosen = cursor.execute(statement("session_traces"), key).fetchall()
        rows = show_traces(
            cursor, db.finished, [first_seq for (first_seq,) in chosen], SESSION_CHARACTERS
        )
    return sorted(rows, key=lambda row: (row["start_time_ns"] or 0, row["first_seq"]))


def _last_finished_ns(cursor: duckdb.DuckDBPyConnection) -> int | None:
    row = cursor.execute(statement("last_finished")).fetchone()
    return None if row is None else row[0]


def _choose_latest(
    cursor: duckdb.DuckDBPyConnection, params: Row
) -> list[tuple[str, str, int, int]]:
    """Return the keys of a page, looking back only as far as it takes to fill it."""
    before_ns = min(params["ceiling_ns"], params["before_ns"] or params["ceiling_ns"])
    traces = max(_LOOK_TRACES, _LOOK_FACTOR * params["limit"])
    while True:
        window = {"before_ns": before_ns, "traces": traces}
        row = cursor.execute(statement("finished_before"), window).fetchone()
        found, floor_ns = row or (0, None)
        is_all = found < traces
        chosen = _choose(cursor, {**params, "floor_ns": 0 if is_all else floor_ns}, None)
        if is_all or len(chosen) == params["limit"]:
            return chosen
        traces *= _LOOK_FACTOR


def _choose(
    cursor: duckdb.DuckDBPyConnection, params: Row, condition: str | None
) -> list[tuple[str, str, int, int]]:
    """Return session, project, activity and newest arrival of what a page holds."""
    sql = statement("page_sessions")
    if condition is None:
        return cursor.execute(sql, params).fetchall()
    passing = statement("sessions_where").replace("(true)", f"({condition})")
    return execute_where(
        cursor, sql.replace("(true)", f"(session_id, project) IN ({passing})"), params, condition
    )


def _show(
    cursor: duckdb.DuckDBPyConnection, session_ids: Sequence[str], characters: int
) -> dict[tuple[str, ...], Row]:
    """Return the sessions of these ids by id and project."""
    if not session_ids:
        return {}
    wanted = {"session_ids": orjson.dumps(session_ids).decode(), "characters": characters}
    rows = fetch_rows(cursor.execute(statement("show_sessions"), wanted))
    return {(row["session_id"], row["project"]): row for row in rows}
