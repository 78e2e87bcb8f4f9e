"""Dialects that users bring: read, refused with place and remedy, and put in force."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from tracejury.dialects import BUILT_IN, active, resolve, use_dialects
from tracejury.dialects.custom import PARTS, parse_dialect
from tracejury.dialects.custom_parts import DialectPart
from tracejury.dialects.files import MAX_FILE_BYTES, MAX_FILES, read_dialect, read_dialects
from tracejury.dialects.rules import (
    CacheRule,
    Dialect,
    EventKind,
    KindRule,
    NameRule,
    Recorded,
    Source,
    Together,
)
from tracejury.errors import DefinitionError

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "acme-dialect.yaml"
WRONG = yaml.safe_load((ROOT / "tests" / "cases" / "custom-dialects.yaml").read_text())
_TABLES: dict[str, Any] = {
    "kinds": KindRule,
    "event_kinds": EventKind,
    "names": NameRule,
    "cache": CacheRule,
    "records": Recorded,
}
SMALL = {"name": "acme", "scopes": "acme"}


@pytest.fixture
def in_force() -> Iterator[None]:
    """Puts the built-in tables alone in force afterwards."""
    yield
    use_dialects()


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case["case"])
def test_a_wrong_file_is_refused_with_its_place_and_remedy(
    case: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(case["file"])
    with pytest.raises(DefinitionError) as caught:
        read_dialect(path)
    message = str(caught.value)
    assert all(line.startswith(str(path)) for line in message.splitlines())
    for words in case["says"]:
        assert words in message
    if "line" in case:
        assert f"{path}, line {case['line']}:" in message


def test_the_file_has_a_place_for_everything_that_a_table_holds() -> None:
    wanted = "say it in dialects/custom.py and docs/custom-dialects.md too"
    assert DialectPart.model_fields.keys() == {f.name for f in dataclasses.fields(Dialect)}, wanted
    for name, part in PARTS.items():
        if name != "rules":
            of_table = {f.name for f in dataclasses.fields(_TABLES[name])}
            assert part.model_fields.keys() == of_table, f"{name}: {wanted}"
    places: list[dict[str, Any]] = [
        {"attr": "a"},
        {"inside": "a", "names": "b"},
        {"added": "a", "names": ["b", "c*"]},
        {"flat": "a"},
        {"prefixed": "a"},
        {"together": {"content": "a"}},
        {"event": "a", "key": "b"},
        {"event_flat": "a", "prefix": "b"},
        {"messages": {"a": "user"}},
    ]
    rules = [{"field": "input", **place} for place in places]
    built = parse_dialect({**SMALL, "rules": rules}).dialect
    assert {type(rule.source) for rule in built.rules} == set(typing.get_args(Source))


def test_what_is_left_out_is_what_the_table_leaves_out() -> None:
    assert parse_dialect(SMALL).dialect == Dialect(name="acme", label="acme", scopes=("acme",))


@pytest.mark.parametrize(("role", "built"), [(None, "assistant"), ("user", "user"), ("none", "")])
def test_what_stands_together_has_the_role_that_is_written(role: str | None, built: str) -> None:
    rule = {"field": "input", "together": {"content": "a"}, **({"role": role} if role else {})}
    (made,) = parse_dialect({**SMALL, "rules": [rule]}).dialect.rules
    assert isinstance(made.source, Together)
    assert made.source.role == built


def test_every_rule_knows_the_entry_it_was_made_from() -> None:
    found = read_dialect(EXAMPLE)
    entries = yaml.safe_load(EXAMPLE.read_text())["rules"]
    assert len(found.numbers) == len(found.dialect.rules)
    assert set(found.numbers) == set(range(len(entries)))
    for rule, number in zip(found.dialect.rules, found.numbers, strict=True):
        assert rule.field == entries[number]["field"]


def test_the_same_data_in_json_is_the_same_table(tmp_path: Path) -> None:
    path = tmp_path / "acme.json"
    path.write_bytes(orjson.dumps(yaml.safe_load(EXAMPLE.read_text())))
    assert read_dialect(path).dialect == read_dialect(EXAMPLE).dialect


def test_what_was_read_makes_the_same_table_in_another_process() -> None:
    found = read_dialect(EXAMPLE)
    again = parse_dialect(orjson.loads(orjson.dumps(found.data)), found.file)
    assert again == found


def test_files_are_bounded_in_number_and_size(tmp_path: Path) -> None:
    large = tmp_path / "large.yaml"
    large.write_text("#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(DefinitionError, match="256 KiB"):
        read_dialect(large)
    with pytest.raises(DefinitionError, match="too many"):
        read_dialects([EXAMPLE] * (MAX_FILES + 1))
    with pytest.raises(DefinitionError, match="check the path"):
        read_dialect(tmp_path / "no.yaml")


def test_two_files_with_one_name_are_refused_by_both_names(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(EXAMPLE.read_text())
    with pytest.raises(DefinitionError) as caught:
        read_dialects([EXAMPLE, other])
    assert str(EXAMPLE) in str(caught.value)
    assert str(other) in str(caught.value)


def test_the_user_wins_where_a_built_in_rule_finds_something_too(in_force: None) -> None:
    attributes = {"gen_ai.request.model": "theirs", "acme.model.asked": "ours"}
    use_dialects([read_dialect(EXAMPLE).dialect])
    found = resolve(
        scope_name="acme.tracing", resource={}, name="x", attributes=attributes, events=()
    )
    assert (found.dialect, found.model) == ("acme", "ours")


def test_a_name_of_a_built_in_dialect_replaces_it(in_force: None) -> None:
    own = parse_dialect({"name": "crewai", "scopes": "acme"}).dialect
    tables = use_dialects([own])
    assert [d for d in tables.dialects if d.name == "crewai"] == [own]
    assert len(tables.dialects) == len(BUILT_IN)
    assert active().dialects[-1].name == "generic"


def test_a_pattern_of_a_user_takes_no_time_that_a_sender_could_stretch(in_force: None) -> None:
    data = {**SMALL, "names": [{"pattern": "(a+)+b", "kind": "tool"}], "waits": ["(x+)+y"]}
    tables = use_dialects([parse_dialect(data).dialect])
    assert tables.name_kind("a" * 500) is None
    assert tables.name_kind("aab") == "tool"
    assert tables.name_part("aab", "tool") == "aa"
    assert not tables.is_wait("x" * 500)
    assert tables.name_kind("\ud800") is None
