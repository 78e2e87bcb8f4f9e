"""The SQL door over HTTP."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import pyarrow as pa
import pytest

from tests.helpers.api import Api, running_api
from tracejury_collector.api import sql as api_sql
from tracejury_collector.store.query import QueryResult, run_select

CSV, ARROW = "text/csv", "application/vnd.apache.arrow.stream"


def ask(api: Api, sql: str, accept: str = "application/json", **body: Any) -> Any:
    return api.http.post("/api/sql", json={"sql": sql, **body}, headers={"accept": accept})


def test_rows_come_with_their_columns(shared: Api) -> None:
    answer = ask(shared, "SELECT service_name, tool_calls AS n FROM traces ORDER BY 1").json()
    assert answer["columns"] == [
        {"name": "service_name", "type": "VARCHAR"},
        {"name": "n", "type": "BIGINT"},
    ]
    assert answer["rows"] == [["billing", 1], ["booking", 1]]
    assert answer["row_count"] == 2
    assert answer["truncated"] is False
    assert answer["elapsed_ms"] > 0


@pytest.mark.parametrize(
    ("sql", "params"),
    [
        ("SELECT trace_id FROM traces WHERE service_name = ?", ["billing"]),
        ("SELECT trace_id FROM traces WHERE service_name = $name", {"name": "billing"}),
    ],
)
def test_parameters_are_bound_by_position_or_name(shared: Api, sql: str, params: Any) -> None:
    assert ask(shared, sql, params=params).json()["rows"] == [[f"{2:032x}"]]


def test_a_limit_truncates_and_says_so(shared: Api) -> None:
    answer = ask(shared, "SELECT span_id FROM spans", limit=3)
    assert answer.json()["row_count"] == 3
    assert answer.json()["truncated"] is True
    assert answer.headers["x-truncated"] == "true"
    assert ask(shared, "SELECT span_id FROM spans", limit=4).json()["truncated"] is False


def test_csv_and_arrow_hold_the_same_rows(shared: Api) -> None:
    sql = "SELECT service_name, latency_ms, models FROM traces ORDER BY 1"
    as_csv = ask(shared, sql, CSV)
    assert as_csv.headers["content-type"].startswith(CSV)
    rows = list(csv.reader(io.StringIO(as_csv.text)))
    assert rows[0] == ["service_name", "latency_ms", "models"]
    assert [row[0] for row in rows[1:]] == ["billing", "booking"]
    as_arrow = ask(shared, sql, ARROW)
    assert as_arrow.headers["content-type"] == ARROW
    table = pa.ipc.open_stream(as_arrow.content).read_all()
    assert table.column("service_name").to_pylist() == ["billing", "booking"]
    assert table.column("latency_ms").to_pylist() == [1000.0, 1000.0]


def test_a_media_type_that_no_answer_has_is_refused(shared: Api) -> None:
    answer = ask(shared, "SELECT 1", "image/png")
    assert answer.status_code == 415
    assert CSV in answer.json()["remedy"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM base.spans",
        "DELETE FROM spans",
        "SELECT 1; SELECT 2",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "ATTACH '/tmp/x.duckdb'",
        "SET threads = 1",
        "PRAGMA database_list",
        "COPY spans TO '/tmp/x'",
        "SELECT no_such_column FROM spans",
        "SELECT * FROM no_such_view",
        "SELEC 1",
        "SELECT ?",
        "SELECT 'x'::INTEGER",
    ],
)
def test_what_is_not_allowed_or_does_not_run_is_422_and_stays_a_problem(
    shared: Api, sql: str
) -> None:
    answer = ask(shared, sql)
    assert answer.status_code == 422
    assert answer.json()["code"] == "sql_refused"
    assert answer.json()["detail"]
    assert "/work" not in answer.text
    assert len(ask(shared, "SELECT span_id FROM spans").json()["rows"]) == 4


def test_a_refusal_says_where_and_what_duckdb_proposes(shared: Api) -> None:
    problem = ask(shared, "SELECT 1,\n  nmae FROM spans").json()
    assert problem["position"] == {"line": 2, "character": 3, "excerpt": "  nmae FROM spans\n  ^"}
    assert "nmae" in problem["detail"]
    assert 'Candidate bindings: "name"' in problem["remedy"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "sql"),
        ({"sql": ""}, "sql"),
        ({"sql": "SELECT 1", "limit": 0}, "limit"),
        ({"sql": "SELECT 1", "limit": 100_001}, "limit"),
        ({"sql": "SELECT 1", "params": "x"}, "params"),
        ({"sql": "SELECT 1", "parms": []}, "parms"),
    ],
)
def test_a_wrong_body_is_refused_by_field(shared: Api, body: dict[str, Any], field: str) -> None:
    answer = shared.http.post("/api/sql", json=body)
    assert answer.status_code == 422
    assert field in answer.json()["detail"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b"null"])
def test_a_body_that_is_no_object_is_a_problem(shared: Api, content: bytes) -> None:
    answer = shared.http.post(
        "/api/sql", content=content, headers={"content-type": "application/json"}
    )
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_query_over_a_mebibyte_is_too_large(shared: Api) -> None:
    assert ask(shared, "SELECT 1 -- " + "x" * (1 << 20)).status_code == 413


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Semaphore, Event]]:
    """Queries that tell when they run, and go on until the event is set."""
    running, gate = Semaphore(0), Event()

    def slowly(*args: Any, **limits: Any) -> QueryResult:
        running.release()
        assert gate.wait(30)
        return run_select(*args, **limits)

    monkeypatch.setattr(api_sql, "run_select", slowly)
    yield running, gate
    gate.set()


def test_waiting_queries_leave_the_other_routes_their_threads(
    shared: Api, slow: tuple[Semaphore, Event]
) -> None:
    running, gate = slow
    at_once = shared.context.config.sql.at_once
    with ThreadPoolExecutor(60) as pool:
        queries = [pool.submit(ask, shared, "SELECT 1") for _ in range(60)]
        for _ in range(at_once):
            assert running.acquire(timeout=30)
        try:
            assert shared.http.get("/readyz").status_code == 200
            assert not running.acquire(timeout=0.2)
        finally:
            gate.set()
        assert {query.result(30).status_code for query in queries} == {200}


def test_a_query_that_waits_too_long_for_its_turn_is_told_to_come_again(
    tmp_path: Path, slow: tuple[Semaphore, Event]
) -> None:
    running, gate = slow
    with (
        running_api(tmp_path, sql={"at_once": 1, "wait": "50ms"}) as api,
        ThreadPoolExecutor(1) as pool,
    ):
        first = pool.submit(ask, api, "SELECT 1")
        assert running.acquire(timeout=30)
        refused = ask(api, "SELECT 1")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert "sql.at_once" in refused.json()["remedy"]
        gate.set()
        assert first.result(30).status_code == 200
        assert ask(api, "SELECT 1").status_code == 200


def test_the_limits_of_the_settings_hold(tmp_path: Path) -> None:
    with running_api(tmp_path, sql={"rows": 3, "bytes": "64KiB", "timeout": "200ms"}) as api:
        cut = ask(api, "FROM range(10)", limit=5).json()
        assert (cut["row_count"], cut["truncated"]) == (3, True)
        large = ask(api, f"SELECT '{'x' * 40_000}' FROM range(3)").json()
        assert (large["row_count"], large["truncated"]) == (1, True)
        late = ask(api, "SELECT count(*) FROM range(10000000) a, range(1000000) b").json()
        assert late["code"] == "sql_refused"
        assert "200ms" in late["detail"] or "0.2 s" in late["detail"]


def test_a_query_that_goes_on_past_its_limit_is_answered_before_the_store_ends(
    tmp_path: Path, slow: tuple[Semaphore, Event]
) -> None:
    with running_api(tmp_path, sql={"timeout": "50ms"}) as api:
        answer = ask(api, "SELECT 1")
        slow[1].set()
    assert answer.json()["code"] == "sql_refused"
    assert "as it is" in answer.json()["remedy"]
