"""The stable views show what is current, and nothing that is superseded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.helpers.databases import fetch, open_database
from tests.helpers.store import span_row, span_table
from tracejury_collector.store.append import Appender
from tracejury_collector.store.database import Database
from tracejury_collector.store.sqlallowed import VIEWS


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with open_database(tmp_path / "db") as database:
        yield database


def _insert(db: Database, table: str, **values: Any) -> None:
    """Insert a row; columns that are required and not given hold an empty value of their type."""

    def insert(connection: duckdb.DuckDBPyConnection) -> None:
        empty = {"VARCHAR": "''", "JSON": "'{}'", "BOOLEAN": "false", "VARCHAR[]": "[]"}
        columns = connection.execute(
            "SELECT column_name, data_type FROM duckdb_columns() "
            "WHERE schema_name = 'base' AND table_name = ? AND NOT is_nullable",
            [table],
        ).fetchall()
        defaults = {
            name: empty.get(type_, "make_timestamp_ns(0)" if "TIMESTAMP" in type_ else "0")
            for name, type_ in columns
            if name not in values
        }
        names = ", ".join([*defaults, *values])
        places = ", ".join([*defaults.values(), *("?" for _ in values)])
        connection.execute(
            f"INSERT INTO base.{table} ({names}) VALUES ({places})", [*values.values()]
        )

    db.write(insert).result()


def test_traces_are_current_revisions_and_traces_never_finished(db: Database) -> None:
    for revision, superseded in ((1, True), (2, False)):
        _insert(db, "traces", trace_id="done", revision=revision, superseded=superseded)
    _insert(db, "traces", trace_id="reopened", revision=1, cost_usd=0.5, span_count=4)
    rows = [span_row(trace_id=trace_id, span_id="9" * 16) for trace_id in ("reopened", "new")]
    Appender(db).append("spans", span_table(rows), 0).result()
    assert fetch(
        db,
        "SELECT trace_id, revision, status, cost_usd, span_count, has_root FROM traces ORDER BY 1",
    ) == [
        ("done", 2, "complete", None, 0, False),
        ("new", 0, "open", None, 1, True),
        ("reopened", 1, "open", 0.5, 4, False),
    ]


def test_totals_of_a_trace_that_never_finished_are_null(db: Database) -> None:
    Appender(db).append("spans", span_table([span_row()]), 0).result()
    totals = "latency_ms, llm_calls, tool_calls, error_count, has_error, total_tokens, completed_by"
    assert fetch(db, f"SELECT {totals} FROM traces") == [(None,) * 7]


@pytest.mark.parametrize("view", ["llm_calls", "tool_calls", "messages", "documents"])
def test_parts_of_superseded_revisions_are_left_out(db: Database, view: str) -> None:
    for revision, superseded in ((1, True), (2, False)):
        _insert(db, view, trace_id="a", revision=revision, superseded=superseded)
    assert fetch(db, f"SELECT revision FROM {view}") == [(2,)]


def test_scores_are_current_and_their_history_is_whole(db: Database) -> None:
    for revision, superseded in ((1, True), (2, False)):
        _insert(db, "results", trace_id="a", revision=revision, superseded=superseded)
    assert fetch(db, "SELECT revision FROM scores") == [(2,)]
    history = fetch(db, "SELECT revision, superseded FROM scores_history ORDER BY 1")
    assert history == [(1, True), (2, False)]


def test_a_session_sums_its_current_traces(db: Database) -> None:
    for trace_id, session_id, cost, superseded in (
        ("a", "s", 0.25, False),
        ("b", "s", None, False),
        ("b", "s", 9.0, True),
        ("c", None, 9.0, False),
    ):
        _insert(
            db,
            "traces",
            trace_id=trace_id,
            session_id=session_id,
            cost_usd=cost,
            span_count=2,
            superseded=superseded,
        )
    rows = fetch(db, "SELECT session_id, traces, span_count, cost_usd FROM sessions")
    assert rows == [("s", 2, 4, 0.25)]


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_every_view_says_what_it_is(db: Database, view: str) -> None:
    ((comment,),) = fetch(
        db, f"SELECT comment FROM duckdb_views() WHERE view_name = '{view}' AND NOT internal"
    )
    assert comment
