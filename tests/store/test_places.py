"""What is written about a trace says where the trace begins, and is found by that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from tests.helpers.worker import bench, child, root, trace_id
from tracejury.result import Score
from tracejury_collector.store import about
from tracejury_collector.store.migrate import migrate, migrations

PLACED = ("messages", "llm_calls", "tool_calls", "documents", "results")
LAYOUT_WITHOUT = 16


def test_every_revision_of_a_trace_begins_where_the_first_did(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        for number in (2, 3):
            store.spans(root(1), child(1, number), root(2), child(2, number))
            store.after(4)
            store.judge(Score(1.0))
        traces = store.rows("SELECT trace_id, revision, first_seq FROM base.traces")
        assert len(traces) == 4
        assert len({(trace, seq) for trace, _, seq in traces}) == 2
        for table in PLACED:
            misplaced = (
                f"SELECT * FROM base.{table} AS x LEFT JOIN base.traces AS t "
                "USING (trace_id, revision) WHERE x.first_seq IS DISTINCT FROM t.first_seq"
            )
            assert store.rows(misplaced) == []
        assert store.rows(
            "SELECT count(*) FROM base.decisions AS d JOIN base.traces AS t "
            "ON t.trace_id = d.target_id AND t.revision = d.revision AND t.first_seq = d.first_seq"
        ) == [(4,)]
        current = "SELECT revision, count(*) FROM base.results WHERE NOT superseded GROUP BY ALL"
        assert [revision for revision, _ in store.rows(current)] == [2]


def test_results_and_decisions_are_found_by_place_as_without(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        for number in (2, 3):
            store.spans(*[span for n in range(1, 30) for span in (root(n), child(n, number))])
            store.after(4)
            store.judge(Score(1.0))
        with store.db.read_as_one() as cursor:
            for n in (1, 17, 29):
                place = about.place_of_trace(cursor, trace_id(n))
                assert place is not None
                anywhere = about.Judged(target_kind="trace", target_id=trace_id(n))
                placed = replace(anywhere, first_seq=place)
                found = about.results_on(cursor, placed)
                assert found == about.results_on(cursor, anywhere)
                assert {row["superseded"] for row in found} == {True, False}
                decisions = about.decisions_on(cursor, placed)
                assert decisions == about.decisions_on(cursor, anywhere)
                assert len(decisions) == 2
            assert about.place_of_trace(cursor, "f" * 32) is None


def test_of_very_many_results_on_a_trace_the_newest_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path) as store:
        for number in (2, 3, 4):
            store.spans(root(1), child(1, number))
            store.after(4)
            store.judge(Score(1.0))
        target = about.Judged(target_kind="trace", target_id=trace_id(1))
        with store.db.read_as_one() as cursor:
            everything = about.results_on(cursor, target)
            assert [row["revision"] for row in everything] == [3, 3, 2, 2, 1, 1]
            monkeypatch.setattr(about, "RESULTS_OF_TARGET", 3)
            assert about.results_on(cursor, target) == everything[:3]


@pytest.mark.parametrize(
    ("trace", "key"),
    [
        ("4bf92f3577b34da6a3ce929d0e0e4736", 0xA3CE929D0E0E4736),
        ("f" * 32, (1 << 64) - 1),
        ("not hex", 0),
        ("", 0),
    ],
)
def test_the_key_of_a_trace_is_the_second_half_of_its_id(trace: str, key: int) -> None:
    with duckdb.connect() as connection:
        migrate(connection)
        assert connection.execute("SELECT base.id_key(?)", [trace]).fetchone() == (key,)


def test_history_from_before_there_were_places_gets_them() -> None:
    with duckdb.connect() as connection:
        migrate(connection, [step for step in migrations() if step.version <= LAYOUT_WITHOUT])
        rows = [(n, revision) for n in (1, 2, 3) for revision in (1, 2)]
        for table in ("traces", *PLACED, "decisions"):
            for n, revision in rows:
                _insert(connection, table, n, revision)
        migrate(connection)
        for table in (*PLACED, "decisions"):
            key = "target_id" if table == "decisions" else "trace_id"
            found = connection.execute(
                f"SELECT {key}, first_seq FROM base.{table} WHERE revision > 0 ORDER BY ALL"
            ).fetchall()
            assert found == [(trace_id(n), n * 10) for n, _ in rows]
        keys = connection.execute("SELECT id_key = base.id_key(trace_id) FROM base.traces")
        assert keys.fetchall() == [(True,)] * len(rows)


def _insert(connection: duckdb.DuckDBPyConnection, table: str, n: int, revision: int) -> None:
    """Insert a row about a revision; other columns that must not be NULL are empty."""
    columns = connection.execute(
        "SELECT column_name, data_type FROM duckdb_columns() "
        "WHERE schema_name = 'base' AND table_name = ? AND NOT is_nullable",
        [table],
    ).fetchall()
    empty = {"VARCHAR": "''", "JSON": "'{}'", "BOOLEAN": "false", "VARCHAR[]": "[]"}
    values = {
        name: empty.get(kind, "make_timestamp_ns(0)" if "TIMESTAMP" in kind else "0")
        for name, kind in columns
    }
    ids = {"trace_id": f"'{trace_id(n)}'", "target_id": f"'{trace_id(n)}'"}
    known = {**ids, "first_seq": str(n * 10), "revision": str(revision)}
    row = {name: known.get(name, value) for name, value in values.items()}
    connection.execute(
        f"INSERT INTO base.{table} ({', '.join(row)}) VALUES ({', '.join(row.values())})"
    )
