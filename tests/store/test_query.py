"""A user's SELECT is bounded, and its values survive JSON."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest

from tests.helpers.databases import fetch, open_database
from tracejury_collector.errors import SqlRefused
from tracejury_collector.store.database import Database
from tracejury_collector.store.query import run_select


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with open_database(tmp_path_factory.mktemp("query") / "db") as database:
        yield database


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1", 1),
        ("NULL", None),
        ("9007199254740992", 9007199254740992),
        ("9007199254740993", "9007199254740993"),
        ("12345678901234567890::UBIGINT", "12345678901234567890"),
        ("sum(3)", 3),
        ("170141183460469231731687303715884105727::HUGEINT", str(2**127 - 1)),
        ("1.5", 1.5),
        ("1.5::DECIMAL(38, 3)", "1.500"),
        ("'nan'::DOUBLE", None),
        ("'-infinity'::DOUBLE", None),
        ("true", True),
        ("'é\U0001f600'", "é\U0001f600"),
        ("'\\x00'::BLOB", "AA=="),
        ("DATE '2026-01-02'", "2026-01-02"),
        ("TIMESTAMP '2026-01-02 03:04:05'", "2026-01-02T03:04:05Z"),
        ("TIMESTAMP '2026-01-02 03:04:05.25'", "2026-01-02T03:04:05.250Z"),
        ("'1969-12-31 23:59:59.999999999'::TIMESTAMP_NS", "1969-12-31T23:59:59.999999999Z"),
        ("TIMESTAMPTZ '2026-01-02 03:04:05+02'", "2026-01-02T01:04:05Z"),
        ("INTERVAL '1 month 2 days 3 seconds'", "P1M2DT3S"),
        ("'{\"a\": 1}'::JSON", '{"a": 1}'),
        ("[1, NULL]", [1, None]),
        ("[[1], NULL, []]", [[1], None, []]),
        (
            "{'a': ['nan'::DOUBLE], 'b': TIMESTAMP '2026-01-01'}",
            {"a": [None], "b": "2026-01-01T00:00:00Z"},
        ),
        ("MAP {1: 'x'}", {"1": "x"}),
        ("MAP {'k': [1]}", {"k": [1]}),
    ],
)
def test_a_value_becomes_what_json_can_hold(db: Database, expression: str, value: Any) -> None:
    result = run_select(db, f"SELECT {expression} AS v")
    assert result.rows() == [[value]]
    assert orjson.loads(orjson.dumps(result.rows())) == [[value]]


def test_nested_values_stay_with_their_rows(db: Database) -> None:
    sql = """
        SELECT CASE WHEN i % 3 = 0 THEN NULL ELSE list_transform([1, 2], lambda x: x * i) END,
            CASE WHEN i % 2 = 0 THEN NULL ELSE MAP {'k': i} END, {'i': i}
        FROM range(5000) AS r(i) ORDER BY i
    """
    expected = [
        [
            None if i % 3 == 0 else [i, 2 * i],
            None if i % 2 == 0 else {"k": i},
            {"i": i},
        ]
        for i in range(4900)
    ]
    assert run_select(db, sql, limit=4900).rows() == expected


def test_columns_come_with_their_types(db: Database) -> None:
    result = run_select(db, "SELECT trace_id, start_time, models, flags FROM traces")
    assert result.columns == [
        ("trace_id", "VARCHAR"),
        ("start_time", "TIMESTAMP_NS"),
        ("models", "VARCHAR[]"),
        ("flags", "VARCHAR[]"),
    ]
    assert (result.rows(), result.truncated) == ([], False)


@pytest.mark.parametrize(("rows", "truncated"), [(9, False), (10, False), (11, True)])
def test_more_rows_than_the_limit_are_cut_and_said_so(
    db: Database, rows: int, truncated: bool
) -> None:
    result = run_select(db, "SELECT * FROM range(?)", [rows], limit=10)
    assert result.rows() == [[i] for i in range(min(rows, 10))]
    assert result.truncated is truncated


def test_an_endless_answer_is_cut_without_reading_it(db: Database) -> None:
    result = run_select(db, "SELECT * FROM range(1000000000000)", limit=5)
    assert result.rows() == [[0], [1], [2], [3], [4]]


def test_more_bytes_than_allowed_are_cut(db: Database) -> None:
    wide = (
        "SELECT repeat FROM (SELECT concat('"
        + "x" * 1000
        + "', i) FROM range(5000) r(i)) t(repeat)"
    )
    result = run_select(db, wide, limit=5000, max_bytes=100_000)
    assert result.truncated
    assert 50 <= len(result.rows()) <= 100


def test_parameters_are_bound_by_order_or_name(db: Database) -> None:
    assert run_select(db, "SELECT ?, ?", ["a'b", 2]).rows() == [["a'b", 2]]
    assert run_select(db, "SELECT $x, $y", {"x": [1], "y": None}).rows() == [[[1], None]]


def test_a_wrong_number_of_parameters_is_refused(db: Database) -> None:
    with pytest.raises(SqlRefused):
        run_select(db, "SELECT ?, ?", [1])


def test_a_query_that_runs_too_long_is_stopped(db: Database) -> None:
    started = time.monotonic()
    with pytest.raises(SqlRefused, match=r"longer than 0\.2 s"):
        run_select(db, "SELECT count(*) FROM range(10000000) a, range(1000000) b", limit_s=0.2)
    assert time.monotonic() - started < 60
    assert run_select(db, "SELECT 1").rows() == [[1]]


@pytest.mark.parametrize(
    "sql", ["SELECT nothing FROM spans", "SELECT error('no')", "SELECT 'a'::INTEGER"]
)
def test_a_query_that_fails_is_refused_with_the_reason(db: Database, sql: str) -> None:
    with pytest.raises(SqlRefused, match=r"nothing|no|a"):
        run_select(db, sql)


def test_the_transaction_is_read_only_and_leaves_nothing_behind(db: Database) -> None:
    before = fetch(db, "SELECT commit_id FROM base.ledger")
    run_select(db, "SELECT count(*) FROM spans")
    assert fetch(db, "SELECT commit_id FROM base.ledger") == before


def test_csv_and_arrow_hold_the_same_rows(db: Database) -> None:
    result = run_select(db, "SELECT i, 'a,\"' || i AS t, [i] AS l FROM range(3) AS r(i)")
    rows = list(csv.reader(io.StringIO(result.to_csv())))
    assert rows == [["i", "t", "l"], *([str(i), f'a,"{i}', f"[{i}]"] for i in range(3))]
    table = pa.ipc.open_stream(result.to_arrow()).read_all()
    assert table.to_pylist() == [{"i": i, "t": f'a,"{i}', "l": [i]} for i in range(3)]


def test_files_stay_out_of_reach_of_the_connection_itself(db: Database, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    for sql in (f"FROM '{secret}'", f"COPY (SELECT 1) TO '{tmp_path / 'out'}'", "LOAD httpfs"):
        with pytest.raises(Exception, match=r"disabled|Permission|not found"):
            fetch(db, sql)
    assert not (tmp_path / "out").exists()


def test_comparing_with_now_tells_how_to_write_it(db: Database) -> None:
    with pytest.raises(SqlRefused, match="now\\(\\)::TIMESTAMP"):
        run_select(db, "SELECT 1 FROM spans WHERE received_at > now()")
