"""The reference pages say what is there: every setting, every view, every column."""

from __future__ import annotations

import json
import re
import typing
from collections import defaultdict
from pathlib import Path

from tests.helpers.databases import fetch, open_database
from tests.helpers.docs import (
    COMMENTS,
    DOCS,
    settings,
    sql_examples,
    view_comments,
    with_dialect_example,
    with_settings_table,
)
from tracejury.dialects.custom import PARTS
from tracejury.dialects.custom_parts import DialectPart
from tracejury.dialects.rules import Guard
from tracejury.trace import SpanKind
from tracejury_collector.config import StorageSettings
from tracejury_collector.store.database import Database
from tracejury_collector.store.describing import describe

_COMMENTS = (
    "SELECT c.table_name AS view, c.column_name AS name, c.comment FROM duckdb_columns() AS c "
    "JOIN duckdb_views() AS v ON v.view_name = c.table_name AND v.schema_name = c.schema_name "
    "WHERE c.schema_name = 'main' AND NOT v.internal"
)
_OF_VIEWS = (
    "SELECT view_name AS view, '' AS name, comment FROM duckdb_views() "
    "WHERE schema_name = 'main' AND NOT internal"
)
SQL_PAGE = (DOCS / "sql.md").read_text("utf-8")


def test_the_table_of_settings_is_that_of_the_code() -> None:
    page = (DOCS / "configuration.md").read_text("utf-8")
    assert page == with_settings_table(page), "run: python -m tests.helpers.docs"
    assert "`listen.api`" in page


def test_the_page_about_own_dialects_is_that_of_the_code() -> None:
    page = (DOCS / "custom-dialects.md").read_text("utf-8")
    assert page == with_dialect_example(page), "run: python -m tests.helpers.docs"
    sections = (PARTS.values(), [DialectPart])
    words = {name for parts in sections for part in parts for name in part.model_fields}
    words |= {*typing.get_args(Guard)} - {""} | {*typing.get_args(SpanKind)}
    missing = [word for word in sorted(words) if not re.search(rf"\b{word}\b", page)]
    assert missing == []


def test_every_setting_is_described() -> None:
    assert [path for path, field in settings() if not field.description] == []


def test_every_view_is_documented_column_by_column(tmp_path: Path) -> None:
    actual: dict[str, list[tuple[str, str]]] = defaultdict(list)
    db = Database.open(str(tmp_path / "x.duckdb"), StorageSettings())
    with db.read() as cursor:
        for view, column, kind in cursor.execute(
            "SELECT c.table_name, c.column_name, c.data_type FROM duckdb_columns() AS c "
            "JOIN duckdb_views() AS v ON v.view_name = c.table_name "
            "WHERE c.schema_name = 'main' AND v.schema_name = 'main' AND NOT v.internal "
            "ORDER BY c.table_name, c.column_index"
        ).fetchall():
            actual[view].append((column, kind))
    db.close()
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", SQL_PAGE, re.DOTALL | re.MULTILINE))
    written = {
        view: re.findall(r"^\| `(\w+)` \| (\S+) \| \S", section, re.MULTILINE)
        for view, section in sections.items()
        if view not in ("Examples", "Limits")
    }
    written["scores_history"] = [*written["scores"], *written["scores_history"]]
    assert written == dict(actual)


def test_the_comments_in_the_database_are_those_of_the_page(tmp_path: Path) -> None:
    assert COMMENTS.read_text("utf-8") == view_comments(), "run: python -m tests.helpers.docs"
    with open_database(tmp_path / "x.duckdb") as db:
        assert describe(db) > 0
        assert describe(db) == 0
        found: dict[str, dict[str, str]] = defaultdict(dict)
        for view, column, comment in fetch(db, f"{_COMMENTS} UNION ALL BY NAME {_OF_VIEWS}"):
            found[view][column] = comment
    assert found == json.loads(view_comments())


def test_the_sql_page_has_twenty_examples() -> None:
    assert len(sql_examples()) >= 20
