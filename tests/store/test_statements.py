"""Every statement has a file, and every file is a statement that something runs."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import duckdb
import pytest

import tracejury_collector
from tracejury_collector.store.append import SIGNALS
from tracejury_collector.store.statements import statement

_CODE = Path(tracejury_collector.__file__).parent
_FILES = sorted(
    path.name.removesuffix(".sql")
    for path in (files("tracejury_collector.store") / "sql").iterdir()
    if path.name.endswith(".sql")
)
_CALL = re.compile(r"\b(?:statement|rows)\(\s*f?\"([a-z_{}]+)\"")


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
