"""A dialect of one's own, tried on OTLP files without any service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from tests.helpers.acme import DIALECT, write_run
from tracejury.cli import app
from tracejury.dialects import active
from tracejury.otlp_spans import read_spans

NOBODY = "http://127.0.0.1:9"


def run(*args: str | Path) -> Result:
    runner = CliRunner(env={"COLUMNS": "80", "TRACEJURY_URL": NOBODY})
    return runner.invoke(app, ["doctor", *map(str, args)])


def tried(file: Path, *otlp: Path) -> dict[str, Any]:
    result = run("--dialects", file, "--json", *(a for path in otlp for a in ("--otlp", path)))
    assert result.exit_code == 0, result.output
    trial: dict[str, Any] = json.loads(result.stdout)["trial"]
    return trial


def test_the_three_kinds_of_files_hold_the_same_spans(tmp_path: Path) -> None:
    names = ("run.pb", "run.json", "run.jsonl")
    found = [list(read_spans([write_run(tmp_path / name)])) for name in names]
    plain = [
        [
            (s.name, s.scope_name, s.attributes, [(e.name, e.attributes) for e in s.events])
            for s in f
        ]
        for f in found
    ]
    assert len(plain[0]) == 5
    assert plain[0] == plain[1] == plain[2]
    assert {span.resource["service.name"] for spans in found for span in spans} == {"weather"}


def test_every_entry_says_what_it_found(tmp_path: Path) -> None:
    trial = tried(DIALECT, write_run(tmp_path / "run.json"))
    assert (trial["spans"], trial["recognized"]) == (5, 5)
    assert trial["kinds"] == {"llm": 2, "retriever": 1, "tool": 1, "agent": 1}
    found = {finding["place"]: finding for finding in trial["findings"]}
    asked = found["rules[3]"]
    assert (asked["hits"], asked["used"], asked["example"]) == (2, 2, "nova-1")
    assert asked["reads"] == "model ← attr acme.model.answered, acme.model.asked"
    never = {place for place, finding in found.items() if not finding["hits"]}
    assert never == {"kinds[1]", "event_kinds[0]"}
    assert {row["key"] for row in trial["unread"]} == {
        "acme.prompt.template.version",
        "event acme.tool.considered",
    }


def test_a_rule_that_another_comes_before_is_hit_and_not_used(tmp_path: Path) -> None:
    data = yaml.safe_load(DIALECT.read_text())
    data["rules"].append({"field": "session_id", "attr": "acme.user"})
    file = tmp_path / "acme.json"
    file.write_text(json.dumps(data))
    found = tried(file, write_run(tmp_path / "run.json"))["findings"][-1]
    assert (found["hits"], found["used"], found["example"]) == (1, 0, "u-1")


def test_a_dialect_that_fits_nothing_says_what_the_spans_are(tmp_path: Path) -> None:
    file = tmp_path / "nova.yaml"
    file.write_text("name: nova\nscopes: [nova]\nrules: [{field: input, attr: nova.prompt}]\n")
    path = write_run(tmp_path / "run.json")
    trial = tried(file, path)
    assert (trial["recognized"], trial["dialects"]) == (0, {"": 5})
    assert "acme.question" in {row["key"] for row in trial["unread"]}
    text = run("--dialects", file, "--otlp", path).stdout
    assert "0 of 5 spans follow it" in text
    assert "rules[0]: input ← attr nova.prompt" in text


def test_the_table_fits_a_terminal_and_nothing_in_it_steers_one(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run.json")
    path.write_text(path.read_text().replace("weatherman", "\\u001b[31mred"))
    result = run("--dialects", DIALECT, "--otlp", path)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "never hit:" in result.stdout
    table = result.stdout.split("entry")[1].split("never hit")[0]
    assert all(len(line) <= 80 for line in table.splitlines())
    assert "rules[17]" in table


def test_a_valid_file_alone_needs_no_service() -> None:
    result = run("--dialects", DIALECT, "--offline")
    assert result.exit_code == 0
    assert "valid; dialect 'acme' (Acme Agents)" in result.stdout


def test_a_dialect_in_place_of_a_built_in_one_says_so(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("name: crewai\nscopes: [crewai]\n")
    assert "in place of the built-in one" in run("--dialects", file, "--offline").stdout


@pytest.mark.parametrize(
    ("file", "otlp", "code", "says"),
    [
        ("name: acme\nscops: [x]\n", None, 2, "line 2: scops: unknown key"),
        (None, "no json", 2, "is no OTLP export"),
        (None, '{"spans": []}', 2, "it has no resourceSpans"),
        (None, '{"resourceSpans": [{"scopeSpans": 7}]}', 2, "is no OTLP export"),
        ("name: acme\nscopes: [x]\n", None, 3, "is valid, but no Tracejury service answers"),
    ],
)
def test_what_is_wrong_is_said_with_its_exit_code(
    file: str | None, otlp: str | None, code: int, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(file if file is not None else DIALECT.read_text())
    export = tmp_path / "run.json"
    if otlp is not None:
        export.write_text(otlp)
    result = run("--dialects", path, *(("--otlp", export) if otlp is not None else ()))
    assert result.exit_code == code, result.output
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


def test_each_problem_of_a_file_has_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("name: acme\nscopes: [x]\nrulz: []\nkind: [x]\n")
    lines = run("--dialects", path).stderr.splitlines()
    assert [line.split(": ")[:3] for line in lines] == [
        ["tracejury", f"{path}, line {number}", name] for number, name in ((3, "rulz"), (4, "kind"))
    ]


def test_what_is_unread_is_said_of_the_spans_that_were_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "nova.yaml"
    file.write_text("name: nova\nscopes: [nova]\n")
    shown = run("--dialects", file, "--otlp", write_run(tmp_path / "run.json")).stdout
    assert " in spans of 'nova' or of no dialect that look like GenAI content" in shown


def test_options_of_a_dialect_need_one(tmp_path: Path) -> None:
    assert run("--offline").exit_code == 2


def test_a_trial_leaves_the_dialects_in_force_alone(tmp_path: Path) -> None:
    before = active()
    tried(DIALECT, write_run(tmp_path / "run.json"))
    assert active() is before
