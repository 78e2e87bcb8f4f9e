"""Rules and evaluators by the command line, against a real server: what it says and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.helpers.api import Api, running_api, served
from tracejury.cli import app

FAST: dict[str, Any] = {"type": "latency-budget", "config": {"budget_ms": 5000}}
RULE: dict[str, Any] = {"evaluators": ["fast"], "sample": {"rate": 0.5}}
SETTINGS: dict[str, Any] = {
    "evaluators": {"ours": {"type": "latency-budget", "config": {"budget_ms": 1}}},
    "rules": {"production": {"evaluators": ["ours"]}},
}
NOBODY = "http://127.0.0.1:9"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    """The API over a configuration with one rule and one evaluator."""
    with running_api(tmp_path, **SETTINGS) as running:
        yield running


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files to define from, in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fast.yaml").write_text("type: latency-budget\nconfig: {budget_ms: 5000}\n")
    (tmp_path / "slow.json").write_text(json.dumps({**FAST, "config": {"budget_ms": 9000}}))
    (tmp_path / "rule.yaml").write_text("evaluators: [fast]\nsample: {rate: 0.5}\n")
    (tmp_path / "typo.yaml").write_text("evaluators: [fats]\n")
    (tmp_path / "rate.yaml").write_text("evaluators: [ours]\nsample: {rate: 7}\n")
    (tmp_path / "list.yaml").write_text("- type: no-loops\n")
    (tmp_path / "torn.yaml").write_text("evaluators: [fast\n")
    (tmp_path / "secret.yaml").write_text(
        "type: webhook\nconfig: {url: 'https://a.example/', headers: {authorization: s3cret}}\n"
    )
    return tmp_path


def run(*args: str, url: str, **options: Any) -> Result:
    runner = CliRunner(env={"COLUMNS": "100", "TRACEJURY_URL": url})
    return runner.invoke(app, args, **options)


def done(*args: str, url: str, **options: Any) -> Any:
    """Run a command that must succeed; return its JSON."""
    result = run(*args, "--json", url=url, **options)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*args: str, url: str, code: int = 2) -> str:
    """Run a command that must be refused in one line on stderr; return that."""
    result = run(*args, url=url)
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    assert "Traceback" not in result.stderr
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def test_what_is_defined_is_in_force_shown_changed_and_removed(
    api: Api, url: str, files: Path
) -> None:
    said = run("define", "evaluator", "fast", "fast.yaml", url=url)
    assert said.exit_code == 0, said.output
    assert said.stdout.startswith("evaluator fast is in force, version ")
    rule = done("define", "rule", "new", "rule.yaml", url=url)
    assert (rule["kind"], rule["name"], rule["source"]) == ("rule", "new", "api")
    assert api.get("/api/rules/new")["body"] == RULE
    assert "new" in {held.name for held in api.context.definitions.in_force().rules}
    changed = done("define", "rule", "new", "-", url=url, input='{"evaluators": ["ours"]}')
    assert changed["version"] != rule["version"]
    assert run("undefine", "rule", "new", url=url).stdout == "rule new is removed\n"
    assert done("undefine", "evaluator", "fast", url=url) == {
        "kind": "evaluator",
        "name": "fast",
        "removed": True,
    }
    assert [item["name"] for item in api.get("/api/rules")["items"]] == ["production"]


def test_definitions_say_who_defined_what(url: str, files: Path) -> None:
    run("define", "evaluator", "fast", "fast.yaml", url=url)
    table = run("definitions", url=url)
    assert table.exit_code == 0, table.output
    lines = [line.split() for line in table.stdout.splitlines()]
    assert ["rule", "production", "file", "ours"] in [words[:4] for words in lines]
    assert ["evaluator", "fast", "api", "latency-budget"] in [words[:4] for words in lines]
    rules = done("definitions", "rules", url=url)["items"]
    assert {item["kind"] for item in rules} == {"rule"}
    one = run("definitions", "evaluator", "fast", url=url).stdout
    assert "defined by the API, in force since " in one
    assert done("definitions", "evaluator", "fast", url=url)["body"] == FAST


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["define", "rule", "production", "rule.yaml"], "in the configuration file; change it"),
        (["define", "evaluator", "ours", "fast.yaml"], "in the configuration file; change it"),
        (["define", "evaluator", "no-loops", "fast.yaml"], "choose another name"),
        (["undefine", "rule", "production"], "in the configuration file; change it"),
        (["undefine", "evaluator", "ours"], "in the configuration file; change it"),
        (["define", "rule", "x", "typo.yaml"], "evaluators: no evaluator is named 'fats'"),
        (["define", "rule", "x", "rate.yaml"], "sample.rate"),
        (["define", "rule", "a b", "rule.yaml"], "name: 'a b' cannot be used"),
        (["define", "evaluator", "x", "secret.yaml"], "config.headers.authorization"),
        (["undefine", "rule", "nobody"], "no rule is named 'nobody'"),
        (["definitions", "evaluator", "nobody"], "no evaluator is named 'nobody'"),
        (["define", "rule", "x", "list.yaml"], "list.yaml: expected a mapping, found list"),
        (["define", "rule", "x", "torn.yaml"], "torn.yaml: neither JSON nor YAML"),
    ],
)
def test_what_is_refused_is_2_and_one_line_with_the_place_and_the_remedy(
    api: Api, url: str, files: Path, command: list[str], said: str
) -> None:
    before = api.get("/api/rules"), api.get("/api/evaluators")
    line = refused(*command, url=url)
    assert said in line
    assert "; " in line, "no remedy"
    assert "s3cret" not in line
    assert (api.get("/api/rules"), api.get("/api/evaluators")) == before


def test_a_file_that_is_not_there_is_named(url: str) -> None:
    assert "'no-such.yaml': no such file" in refused("define", "rule", "x", "no-such.yaml", url=url)


def test_a_kind_that_is_none_is_named(url: str) -> None:
    result = run("definitions", "judge", url=url)
    assert result.exit_code == 2
    assert "'judge' is neither rule nor evaluator" in result.stderr


def test_an_evaluator_in_use_is_not_removed(url: str, files: Path) -> None:
    run("define", "evaluator", "fast", "fast.yaml", url=url)
    run("define", "rule", "new", "rule.yaml", url=url)
    assert "is used by rule 'new'" in refused("undefine", "evaluator", "fast", url=url)
    assert run("undefine", "rule", "new", url=url).exit_code == 0
    assert run("undefine", "evaluator", "fast", url=url).exit_code == 0


def test_another_version_than_expected_is_neither_changed_nor_removed(
    api: Api, url: str, files: Path
) -> None:
    first = done("define", "evaluator", "fast", "fast.yaml", "--if-version", "", url=url)
    change = ["define", "evaluator", "fast", "slow.json", "--if-version"]
    assert f"is version {first['version']}; read it again" in refused(*change, "", url=url)
    assert "read it again" in refused(*change, "0" * 16, url=url)
    assert api.get("/api/evaluators/fast")["version"] == first["version"]
    second = done(*change, first["version"], url=url)
    remove = ["undefine", "evaluator", "fast", "--if-version"]
    assert second["version"] in refused(*remove, first["version"], url=url)
    assert run(*remove, second["version"], url=url).exit_code == 0
    assert "is not there; read it again" in refused(*change, "*", url=url)


def test_a_service_that_cannot_be_reached_is_3(files: Path) -> None:
    for command in (
        ["definitions"],
        ["define", "evaluator", "fast", "fast.yaml"],
        ["undefine", "rule", "x"],
    ):
        assert "tracejury serve" in refused(*command, url=NOBODY, code=3)


def test_a_fault_is_shown_in_the_place_of_the_definition(tmp_path: Path) -> None:
    (tmp_path / "rule.json").write_text('{"evaluators": ["ours"]}')
    with running_api(tmp_path, **SETTINGS) as api, served(api) as url:
        done("define", "rule", "mine", str(tmp_path / "rule.json"), url=url)
    with running_api(tmp_path, rules={}) as api, served(api) as url:
        table = run("definitions", "rule", url=url).stdout
        assert "cannot be used: " in table
        one = run("definitions", "rule", "mine", url=url).stdout
        assert "cannot be used: " in one
        assert "no evaluator is named 'ours'" in one
        assert "fingerprint none" in one
