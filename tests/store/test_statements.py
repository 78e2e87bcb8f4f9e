"""Every statement has a file, and every file is a statement that something runs."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import duckdb
import pytest

import tracejury_collector
from tracejury_collector.store.append import SIGNALS
from tracejury_collector.store.statements import _OPTIONAL, narrowed, statement

_CODE = Path(tracejury_collector.__file__).parent
_FILES = sorted(
    path.name.removesuffix(".sql")
    for path in (files("tracejury_collector.store") / "sql").iterdir()
    if path.name.endswith(".sql")
)
_CALL = re.compile(
    r"\b(?:statement|narrowed|\.rows|read_rows)\(\s*(?:cursor,\s*)?f?\"([a-z_{}]+)\""
)


def _source() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in _CODE.rglob("*.py"))


def test_every_name_that_the_code_runs_has_a_file() -> None:
    found = _CALL.findall(_source())
    names = {name.replace("{signal}", signal) for name in found for signal in SIGNALS}
    assert len(names) > 10
    assert {name for name in names if "{" not in name} - set(_FILES) == set()


def test_every_file_is_named_in_the_code() -> None:
    source = _source().replace("{signal}", "spans") + _source().replace("{signal}", "logs")
    patterns = [
        re.sub(r"\{[^}]*\}", "[a-z_]+", p) for p in re.findall(r"f\"([a-z_]+_\{[^\"]*)\"", source)
    ]
    unused = [
        name
        for name in _FILES
        if f'"{name}"' not in source and not any(re.fullmatch(p, name) for p in patterns)
    ]
    assert unused == []


@pytest.mark.parametrize("name", _FILES)
def test_a_file_holds_one_statement_or_a_condition(name: str) -> None:
    text = statement(name)
    if not _is_condition(text):
        assert len(duckdb.extract_statements(text)) == 1


def _is_condition(text: str) -> bool:
    try:
        return len(duckdb.extract_statements(f"SELECT 1 WHERE (\n{text}\n)")) == 1
    except duckdb.ParserException:
        return False


def test_a_name_without_a_file_is_an_error() -> None:
    with pytest.raises(KeyError, match="no_such_statement"):
        statement("no_such_statement")


def _optional(name: str) -> set[str]:
    return set(_OPTIONAL.findall(statement(name)))


@pytest.mark.parametrize("name", [name for name in _FILES if _optional(name)])
def test_conditions_are_left_out_where_their_value_is_none(name: str) -> None:
    optional = _optional(name)
    taken = set(re.findall(r"\$(\w+)", statement(name)))
    sql, params = narrowed(name, {**dict.fromkeys(taken, 1), **dict.fromkeys(optional, None)})
    assert _OPTIONAL.search(sql) is None
    assert set(params) == set(re.findall(r"\$(\w+)", sql)) <= taken
    assert len(duckdb.extract_statements(sql)) == 1


@pytest.mark.parametrize("name", [name for name in _FILES if _optional(name)])
def test_conditions_stay_whole_where_there_is_a_value(name: str) -> None:
    taken = set(re.findall(r"\$(\w+)", statement(name)))
    sql, params = narrowed(name, dict.fromkeys(taken, 1))
    assert set(params) == taken
    assert sql == re.sub(_OPTIONAL, "(", statement(name))
    assert len(duckdb.extract_statements(sql)) == 1


def test_what_a_statement_does_not_take_is_not_given_to_it() -> None:
    _, params = narrowed("current_revision", {"trace_id": "a", "limit": 3})
    assert params == {"trace_id": "a"}
