"""The page on definitions: its files are defined as it says, its SQL counts each result once."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from tests.helpers.api import Api, agent_run, record_result, running_api, served
from tests.helpers.doc_blocks import read_blocks
from tracejury.cli import app

PAGE = (Path(__file__).parents[2] / "docs/definitions.md").read_text("utf-8")
BLOCKS = read_blocks(PAGE)
FILES = [block.text for block in BLOCKS if block.language == "yaml"]
COMMANDS = [block.text for block in BLOCKS if block.language == "sh"]
(SQL,) = (block.text for block in BLOCKS if block.language == "sql")


def write_files(folder: Path) -> None:
    """Write each file of the page under the name in its first line."""
    for text in FILES:
        name = text.partition(":")[0].removeprefix("# ")
        (folder / name).write_text(text, encoding="utf-8")


def test_the_commands_of_the_page_define_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    with running_api(tmp_path) as api, served(api) as url:
        cli = CliRunner(env={"TRACEJURY_URL": url})
        for line in COMMANDS[0].splitlines():
            answer = cli.invoke(app, line.split()[1:])
            assert answer.exit_code == 0, answer.output
        assert api.get("/api/evaluators/fast")["body"] == yaml.safe_load(FILES[0])
        assert api.get("/api/rules/production")["body"] == yaml.safe_load(FILES[1])
        (guarded,) = COMMANDS[1].splitlines()
        assert cli.invoke(app, guarded.split()[1:]).exit_code == 2  # an example's version


def test_the_sql_of_the_page_counts_each_result_once(tmp_path: Path) -> None:
    fast = yaml.safe_load(FILES[0])
    slow = {**fast, "config": {"budget_ms": 9000}}
    with running_api(tmp_path) as api:
        prints = [put(api, "fast", body) for body in (fast, slow, fast, {**fast, "timeout": 9})]
        assert len(set(prints)) == 2
        put(api, "twin", fast)
        api.store(*agent_run(1), *agent_run(2))
        api.finish()
        for number, version in ((1, prints[0]), (2, prints[1])):
            record_result(
                api,
                decision_id=f"d{number}",
                trace_id=f"{number:032x}",
                target_id=f"{number:032x}",
                fingerprint=version,
                score=float(number == 1),
            )
        answer = api.http.post("/api/sql", json={"sql": SQL})
        assert answer.status_code == 200, answer.text
        found = {row[2]: row[1] for row in answer.json()["rows"]}
        bodies = [str(row[0]) for row in answer.json()["rows"]]
    assert found == {1.0: 1, 0.0: 1}
    assert sorted("9000" in body for body in bodies) == [False, True]


def put(api: Api, name: str, body: object) -> str:
    answer = api.http.put(f"/api/evaluators/{name}", json=body)
    assert answer.status_code in {200, 201}, answer.text
    return str(answer.json()["fingerprint"])
