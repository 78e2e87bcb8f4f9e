"""The stable views show what is current, and nothing that is superseded."""

from __future__ import annotations

import datetime as dt
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


def _insert_in_session(db: Database, trace_id: str, **values: Any) -> None:
    _insert(db, "traces", **{"trace_id": trace_id, "session_id": "s", "kind": "agent", **values})


def _session(db: Database, columns: str) -> tuple[Any, ...]:
    (row,) = fetch(db, f"SELECT {columns} FROM sessions")
    return row


def test_a_session_sums_its_current_traces(db: Database) -> None:
    _insert_in_session(db, "a", cost_usd=0.25, span_count=2, total_tokens=10)
    _insert_in_session(db, "b", cost_usd=0.5, span_count=2, has_error=True)
    _insert_in_session(db, "b", cost_usd=9.0, span_count=9, superseded=True)
    _insert(db, "traces", trace_id="c", kind="agent", cost_usd=9.0)
    columns = "session_id, traces, span_count, cost_usd, total_tokens, traces_with_error"
    assert _session(db, columns) == ("s", 2, 4, 0.75, 10, 1)


def test_traces_that_are_no_runs_add_nothing_to_the_totals(db: Database) -> None:
    totals = {
        "llm_calls": 1,
        "tool_calls": 2,
        "total_tokens": 7,
        "cost_usd": 0.5,
        "has_error": True,
    }
    _insert_in_session(db, "a", kind="llm", models=["gpt-4o"], input="first", **totals)
    _insert_in_session(db, "b", kind="tool", models=["o3"], output="last", **totals)
    for kind in ("setup", "evaluator", "other"):
        said = {"input": kind, "output": kind, "models": [kind]}
        _insert_in_session(db, kind, kind=kind, span_count=3, **said, **totals)
    assert _session(db, "traces, runs, span_count, llm_calls, tool_calls, total_tokens") == (
        5, 2, 9, 2, 4, 14,
    )  # fmt: skip
    assert _session(db, "cost_usd, traces_with_error, models") == (1.0, 2, ["gpt-4o", "o3"])


def test_a_session_without_runs_has_no_totals(db: Database) -> None:
    _insert_in_session(db, "a", kind="setup", total_tokens=7, cost_usd=1.0, models=["x"])
    columns = "traces, runs, llm_calls, total_tokens, cost_usd, models, input, output"
    assert _session(db, columns) == (1, 0, 0, None, None, [], None, None)


@pytest.mark.parametrize(
    ("tokens", "cost"), [(12, None), (0, 0.25), (None, 0.25)], ids=["some", "zero", "not recorded"]
)
def test_the_cost_of_a_session_is_unknown_where_that_of_a_run_with_tokens_is(
    db: Database, tokens: int | None, cost: float | None
) -> None:
    _insert_in_session(db, "a", cost_usd=0.25, total_tokens=5)
    _insert_in_session(db, "b", cost_usd=None, total_tokens=tokens)
    _insert_in_session(db, "c", kind="evaluator", cost_usd=None, total_tokens=5)
    assert _session(db, "cost_usd") == (cost,)


def test_a_session_tells_who_and_when_and_what_came_first_and_last(db: Database) -> None:
    second = dt.datetime(2026, 9, 1, 12, 0, 5)
    for n, user in ((1, "ada"), (0, "ada"), (2, "bob")):
        start = second + dt.timedelta(seconds=n)
        _insert_in_session(
            db, str(n), user_id=user, service_name=f"s{n}", agent_name="planner", first_seq=n,
            start_time=start, end_time=start + dt.timedelta(milliseconds=500),
            input=f"question {n}", output=None if n == 2 else f"answer {n}",
        )  # fmt: skip
    assert _session(db, "user_id, user_ids, service_names, agent_names") == (
        None, ["ada", "bob"], ["s0", "s1", "s2"], ["planner"],
    )  # fmt: skip
    assert _session(db, "input, output, duration_ms") == ("question 0", "answer 1", 2500.0)


def test_the_user_of_a_session_is_named_where_there_is_one(db: Database) -> None:
    _insert_in_session(db, "a", user_id="ada")
    _insert_in_session(db, "b", user_id=None)
    assert _session(db, "user_id, user_ids, service_names, agent_names") == (
        "ada", ["ada"], [], [],
    )  # fmt: skip


def test_a_session_is_of_one_project(db: Database) -> None:
    for trace_id, project in (("a", "x"), ("b", "y"), ("c", "y")):
        _insert_in_session(db, trace_id, project=project)
    assert fetch(db, "SELECT project, traces FROM sessions ORDER BY 1") == [("x", 1), ("y", 2)]


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_every_view_says_what_it_is(db: Database, view: str) -> None:
    ((comment,),) = fetch(
        db, f"SELECT comment FROM duckdb_views() WHERE view_name = '{view}' AND NOT internal"
    )
    assert comment
