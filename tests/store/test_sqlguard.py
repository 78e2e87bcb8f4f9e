"""The door for users' SQL lets SELECTs over the views pass, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.helpers.databases import open_database
from tracejury_collector.errors import SqlRefused
from tracejury_collector.store.database import Database
from tracejury_collector.store.query import run_select
from tracejury_collector.store.sqlallowed import VIEWS
from tracejury_collector.store.sqlguard import MAX_SQL_BYTES, check_expression, check_select

SECRET = "tj_secret_0123456789"
DATA = Path(__file__).parent.parent / "data"


def _statements(name: str) -> list[str]:
    lines = (DATA / name).read_text(encoding="utf-8").split("\n")[:-1]
    return [line.replace("\\n", "\n") for line in lines if not line.startswith("#")]


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with open_database(tmp_path_factory.mktemp("sql") / "db") as database:
        yield database


@pytest.mark.parametrize("sql", _statements("sql_attacks.txt"))
def test_what_is_not_a_select_over_the_views_is_refused(sql: str) -> None:
    with pytest.raises(SqlRefused):
        check_select(sql)


def test_attacks_change_nothing_and_read_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacks = _statements("sql_attacks.txt")
    assert len(attacks) >= 150
    monkeypatch.setenv("HOME", SECRET)
    path = tmp_path / "tracejury.duckdb"
    with open_database(path) as database:
        database.write(
            lambda c: c.execute(f"CREATE TABLE base.hidden AS SELECT '{SECRET}'")
        ).result()
        before = _hashes(tmp_path)
        for sql in attacks:
            with pytest.raises(SqlRefused) as refused:
                run_select(database, sql.replace("base.ledger", "base.hidden"))
            assert SECRET not in str(refused.value)
        assert _hashes(tmp_path) == before


def _hashes(folder: Path) -> dict[str, str]:
    """Return what all files below hold; the names of new ones would stand out."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("sql", _statements("sql_queries.txt"))
def test_a_useful_query_passes_and_runs(db: Database, sql: str) -> None:
    run_select(db, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "(" * 30_000 + "1" + ")" * 30_000,
        "1" + "+1" * 30_000,
        "NOT " * 15_000 + "true",
        "[" * 30_000 + "]" * 30_000,
        "1" + "::INTEGER" * 6_000,
        "x" + "[1]" * 20_000,
        "NULL::INTEGER" + "[]" * 30_000,
        "(SELECT " * 3_000 + "1" + ")" * 3_000,
        "CASE WHEN true THEN " * 2_000 + "1" + " END" * 2_000,
        "abs(" * 300 + "1" + ")" * 300,
        "'" + "x" * MAX_SQL_BYTES + "'",
        "'\ud800'",
        "\x00",
    ],
    ids=lambda sql: repr(sql[:12]),
)
def test_what_is_too_deep_or_too_long_is_refused(sql: str) -> None:
    with pytest.raises(SqlRefused):
        check_select(f"SELECT {sql}")


@pytest.mark.parametrize(
    ("sql", "parts"),
    [
        ("SELECT * FROM trace", ["'trace'", "character 15", "'traces'"]),
        ("SELECT uper(name) FROM spans", ["'uper'", "character 8", "'upper'"]),
        ("SELECT * FROM base.spans", ["'base.spans'", "without a schema"]),
        ("SELECT getenv('HOME')", ["'getenv'", "environment"]),
        ("DELETE FROM spans", ["only SELECT", "traces"]),
        ("SELECT 1 FORM spans", ["syntax error", "character 15"]),
        ("SELECT 1; SELECT 2", ["2 statements"]),
        ("SELECT NULL::VARIANT", ["VARIANT"]),
        ("SHOW TABLES", ["SHOW", "traces"]),
    ],
)
def test_a_refusal_names_the_fault_its_place_and_the_remedy(sql: str, parts: list[str]) -> None:
    with pytest.raises(SqlRefused) as refused:
        check_select(sql)
    assert [part for part in parts if part not in str(refused.value)] == []


@pytest.mark.parametrize(
    "sql",
    [
        "true",
        "has_error AND latency_ms > 5000",
        "service_name = 'booking' OR (name ILIKE '%a%')",
        "traces.name = 'x'",
        "list_contains(models, 'gpt-5') AND cost_usd IS NOT NULL",
        "len(list_filter(models, lambda m: m LIKE 'gpt%')) > 0",
        "name IN ('a', 'b') -- and a comment",
        "status = 'open'",
    ],
)
def test_a_condition_on_the_columns_of_a_view_passes(db: Database, sql: str) -> None:
    condition = check_expression(sql, "traces")
    run_select(db, f"SELECT trace_id FROM traces WHERE ({condition}) AND ({condition})")


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "1) OR (1 = 1",
        "true) FROM traces UNION SELECT (1",
        "true) --",
        "true /*",
        "true; DROP VIEW traces",
        "true LIMIT 5",
        "true AS x",
        "true, true",
        "true FROM spans",
        "SELECT 1",
        "EXISTS (SELECT 1)",
        "(SELECT true)",
        "trace_id IN (FROM spans)",
        "*",
        "COLUMNS(*) IS NULL",
        "count(*) > 1",
        "row_number() OVER () = 1",
        "unnest([true])",
        "name = ?",
        "name = $x",
        "has_eror",
        "spans.name = 'x'",
        "getenv('HOME') = 'x'",
        "attributes IS NULL",
        "name::VARIANT IS NULL",
    ],
)
def test_what_is_not_one_condition_is_refused(sql: str) -> None:
    with pytest.raises(SqlRefused):
        check_expression(sql, "traces")


@pytest.mark.parametrize(
    ("sql", "line", "character", "pointed_at"),
    [
        ("SELECT uper(name) FROM spans", 1, 8, "uper"),
        ("SELECT 'ä€😀', uper(name) FROM spans", 1, 15, "uper"),
        ("SELECT 1,\n  uper(name)\nFROM spans", 2, 3, "uper"),
        ("SELECT *\nFROM trace", 2, 6, "trace"),
        ("EXPLAIN SELECT uper(name) FROM spans", 1, 16, "uper"),
        ("SELECT 1 FORM spans", 1, 15, "spans"),
        ("SELECT nmae FROM spans", 1, 8, "nmae"),
        ("SELECT 1,\n  'ä' || nmae FROM spans", 2, 10, "nmae"),
        ("SELECT '" + "y" * 200 + "', nmae, '" + "x" * 200 + "' FROM spans", 1, 212, "nmae"),
        ("SELECT upper(1, 2)", 1, 8, "upper"),
        ("SELECT 1,\n'x'::INTEGER", 2, 4, "::INTEGER"),
        ("SELECT 1,\n\t'😀', nmae FROM spans", 2, 7, "nmae"),
    ],
)
def test_a_refusal_points_at_its_place(
    db: Database, sql: str, line: int, character: int, pointed_at: str
) -> None:
    with pytest.raises(SqlRefused) as refused:
        run_select(db, sql)
    place = refused.value.place
    assert place is not None
    assert (place.line, place.character) == (line, character)
    text, caret = place.excerpt.split("\n")
    assert text[len(caret) - 1 :].startswith(pointed_at)
    assert len(text) <= 80
    assert f"line {line}, character {character}" in str(refused.value)


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT nmae FROM spans", 'Candidate bindings: "name"'),
        ("SELECT upper(1, 2)", "upper(VARCHAR) -> VARCHAR"),
        ("SELECT x.name FROM spans AS s", 'Candidate tables: "s"'),
    ],
)
def test_a_refusal_passes_on_what_duckdb_proposes(db: Database, sql: str, hint: str) -> None:
    with pytest.raises(SqlRefused) as refused:
        run_select(db, sql)
    assert hint in str(refused.value).partition("; ")[2]


def test_a_refused_condition_points_at_an_unknown_column() -> None:
    with pytest.raises(SqlRefused) as refused:
        check_expression("'ä' = name\n AND has_eror", "traces")
    assert refused.value.place is not None
    assert refused.value.place.excerpt == " AND has_eror\n     ^"
    assert '"has_error"' in str(refused.value)


def test_a_refused_condition_counts_places_from_its_own_start() -> None:
    with pytest.raises(SqlRefused, match="character 15"):
        check_expression("has_error AND uper(name) = 'X'", "traces")


def test_the_listed_views_are_the_views_of_the_database(db: Database) -> None:
    with db.read() as cursor:
        found = cursor.execute(
            "SELECT view_name FROM duckdb_views() "
            "WHERE NOT internal AND schema_name = 'main' AND database_name = current_database()"
        ).fetchall()
    assert {name for (name,) in found} == VIEWS
