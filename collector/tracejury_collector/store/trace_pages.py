"""Pages of traces: current revisions beside open traces that were never finished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import duckdb
import orjson

from tracejury_collector.store.database import Database
from tracejury_collector.store.finished_ids import FinishedIds
from tracejury_collector.store.reads import checked_where, execute_where
from tracejury_collector.store.statements import Row, fetch_rows, narrowed, read_rows, statement

LIST_CHARACTERS = 500
"""Characters of an input or output that a list shows."""

_CLOSE_SPANS = 50
"""For each trace of a page: so far apart may they begin, and be read with all in between."""

_UNKNOWN: Row = dict.fromkeys(
    [
        *("completed_by", "name", "kind", "agent_name", "session_id", "user_id", "latency_ms"),
        *("llm_calls", "tool_calls", "error_count", "has_error", "models", "input_tokens"),
        *("output_tokens", "total_tokens", "cost_usd", "input", "output", "spans_deleted_at_ns"),
    ]
)
"""What only assembly knows of a trace."""
_WITH_CONDITION = {"page_finished": "page_finished_where", "page_begun": "page_begun_where"}
_BEGUN = (
    *("trace_id", "revision", "status", "project", "service_name", "first_seq", "last_seq"),
    *("start_time_ns", "span_count"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    """Which traces a page holds; None does not filter. `until_ns` is excluded."""

    project: str | None = None
    service: str | None = None
    session_id: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    before_seq: int | None = None
    limit: int = 50


def list_traces(db: Database, wanted: TraceFilter, where: str | None = None) -> list[Row]:
    """Return traces, newest arrival first.

    Raises: SqlRefused if `where` is not an allowed expression over the view `traces`, does not
    run, or runs too long.
    """
    condition = None if where is None else checked_where(where, "traces")
    with db.read() as cursor:
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        begun = {row["first_seq"]: row for row in _begun(cursor, db.finished, wanted, condition)}
        rows = _choose(cursor, "page_finished", wanted, condition)
        finished = [seq for (seq,) in rows]
        page = set(sorted([*begun, *finished], reverse=True)[: wanted.limit])
        shown = show_traces(cursor, db.finished, [seq for seq in finished if seq in page])
    return _newest_first(shown + [row for seq, row in begun.items() if seq in page])


def show_traces(
    cursor: duckdb.DuckDBPyConnection,
    known: FinishedIds,
    first_seqs: Sequence[int],
    characters: int = LIST_CHARACTERS,
) -> list[Row]:
    """Return the traces that begin at `first_seqs`, newest arrival first, their texts cut."""
    if not first_seqs:
        return []
    finished = _finished(cursor, first_seqs, characters)
    missing = set(first_seqs) - {row["first_seq"] for row in finished}
    return _newest_first(
        finished + _never_finished(cursor, known, _open_at(cursor, sorted(missing)))
    )


def _finished(
    cursor: duckdb.DuckDBPyConnection, first_seqs: Sequence[int], characters: int
) -> list[Row]:
    """Return the current revisions that begin there.

    Of places that lie close together all in between are read, and those left out that are not
    asked for: that takes a third less than to have DuckDB join them.
    """
    sql, places = statement("show_finished"), _places(first_seqs)
    if _lie_close(first_seqs):
        del places["first_seqs"]
    else:
        condition = statement("chosen_places")
        sql = sql.replace("(true)", f"({condition})")
    rows = fetch_rows(cursor.execute(sql, {**places, "characters": characters}))
    chosen = {*first_seqs}
    return _with_status(cursor, [row for row in rows if row["first_seq"] in chosen])


def _lie_close(first_seqs: Sequence[int]) -> bool:
    return max(first_seqs) - min(first_seqs) <= _CLOSE_SPANS * len(first_seqs)


def _with_status(cursor: duckdb.DuckDBPyConnection, finished: Sequence[Row]) -> list[Row]:
    """Return the revisions, those of open traces as open."""
    ids = orjson.dumps([row["trace_id"] for row in finished]).decode()
    opened = {
        row["trace_id"]: {"status": "open", "start_time_ns": row["first_seen_ns"]}
        for row in read_rows(cursor, "opened_of_traces", {"trace_ids": ids})
    }
    return [
        row | opened.get(row["trace_id"], {}) | _known_start(row)  # its own start, if it says one
        for row in finished
    ]


def _known_start(row: Row) -> Row:
    start_ns = row["start_time_ns"]
    return {} if start_ns is None else {"start_time_ns": start_ns}


def finished_once(
    cursor: duckdb.DuckDBPyConnection, known: FinishedIds, trace_ids: Sequence[str]
) -> set[str]:
    """Return those of the traces that have a revision."""
    likely = known.among(trace_ids)
    if not likely:
        return set()
    ids = {"trace_ids": orjson.dumps(likely).decode()}
    rows = cursor.execute(statement("traces_finished_once"), ids).fetchall()
    return {trace_id for (trace_id,) in rows}.intersection(likely)


def _begun(
    cursor: duckdb.DuckDBPyConnection,
    known: FinishedIds,
    wanted: TraceFilter,
    condition: str | None,
) -> list[Row]:
    """Return the newest open traces that were never finished.

    Which these are is asked of a page at a time: it may take a look at all of the history.
    """
    if wanted.session_id is not None:
        return []  # it is not known before
    found: list[Row] = []
    while True:
        rows = _open_page(cursor, wanted, condition)
        found += _never_finished(cursor, known, rows)
        if len(rows) < wanted.limit or len(found) >= wanted.limit:
            return found
        wanted = replace(wanted, before_seq=rows[-1]["first_seq"])


def _open_page(
    cursor: duckdb.DuckDBPyConnection, wanted: TraceFilter, condition: str | None
) -> list[Row]:
    rows = _choose(cursor, "page_begun", wanted, condition)
    if condition is None:
        return [dict(zip(_BEGUN, row, strict=True)) for row in rows]
    return _open_at(cursor, [seq for (seq,) in rows])


def _open_at(cursor: duckdb.DuckDBPyConnection, first_seqs: Sequence[int]) -> list[Row]:
    """Return the open traces that begin there, newest arrival first."""
    if not first_seqs:
        return []
    return fetch_rows(cursor.execute(statement("show_begun"), _places(first_seqs)))


def _never_finished(
    cursor: duckdb.DuckDBPyConnection, known: FinishedIds, opened: Sequence[Row]
) -> list[Row]:
    finished = finished_once(cursor, known, [row["trace_id"] for row in opened])
    return [_UNKNOWN | row for row in opened if row["trace_id"] not in finished]


def _choose(
    cursor: duckdb.DuckDBPyConnection, name: str, wanted: TraceFilter, condition: str | None
) -> list[tuple[Any, ...]]:
    """Return the rows of the statement `name` for a page, or of the one that takes a condition."""
    if condition is None:
        return cursor.execute(*narrowed(name, asdict(wanted))).fetchall()
    sql, params = narrowed(_WITH_CONDITION[name], asdict(wanted))
    sql = sql.replace("(true)", f"({condition})")
    if "status" not in condition.lower():
        sql = sql.replace("base.finished", "base.current")
    return execute_where(cursor, sql, params, condition)


def _newest_first(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -int(row["first_seq"]))


def _places(first_seqs: Sequence[int]) -> Row:
    # As JSON: DuckDB takes long over a parameter that is a long list.
    listed = orjson.dumps(first_seqs).decode()
    return {"low": min(first_seqs), "high": max(first_seqs), "first_seqs": listed}
