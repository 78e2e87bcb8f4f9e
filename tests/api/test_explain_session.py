"""A session's story over the API, the client and the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.api.test_sessions import HOSTILE_IDS, chat
from tests.helpers.api import Api, record_result, running_api, served
from tracejury.cli import app
from tracejury.client import Client

SETTINGS = {
    "completion": {"session_idle": "5s"},
    "evaluators": {"said": {"type": "non-empty-output"}},
    "rules": {"whole": {"target": "session", "evaluators": ["said"]}},
}
HEX_ID = "0123456789abcdef" * 2
LINE = "rule 'whole' on revision 1: selected"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with running_api(tmp_path, **SETTINGS) as running:
        yield running


def judged(api: Api, *sessions: str) -> None:
    """Let the sessions be finished and decided."""
    for number, session in enumerate(sessions, start=1):
        api.store(*chat(number, session))
    api.finish()
    api.finish()


def test_a_session_of_any_name_is_explained(api: Api) -> None:
    names = [*HOSTILE_IDS, "a/explain", "/explain", "a/explain/explain"]
    judged(api, *names)
    with served(api) as url, Client(url) as client:
        for name in names:
            story = client.explain_session(name)
            assert story.session_id == name
            assert any(line.startswith(LINE) for line in story.lines), name


def test_a_session_whose_name_ends_like_the_path_is_shown_too(api: Api) -> None:
    judged(api, "a/explain", "a")
    shown = api.get("/api/sessions/a%2Fexplain")
    assert (shown["session_id"], shown["trace_count"]) == ("a/explain", 1)
    assert api.get("/api/sessions/a/explain")["session_id"] == "a"


def test_what_was_said_of_a_session_stands_in_its_story(api: Api) -> None:
    judged(api, "s")
    said = {"session_id": "s", "name": "helpful", "verdict": "fail", "author": "ann"}
    assert api.http.post("/api/labels", json=said).status_code == 200
    story = api.get("/api/sessions/s/explain")
    assert story["lines"][-1] == "label 'helpful' by ann: fail"
    assert [label["name"] for label in story["labels"]] == ["helpful"]


def test_a_session_shows_what_was_found_on_it_as_a_whole(api: Api) -> None:
    judged(api, "s")
    target = "default/s"
    record_result(api, target_kind="session", target_id=target, trace_id="", evaluator="said")
    shown = api.get("/api/sessions/s")
    assert [decision["rule"] for decision in shown["decisions"]] == ["whole"]
    (found,) = shown["results"]
    assert (found["target_kind"], found["target_id"], found["trace_id"]) == ("session", target, "")
    assert api.get("/api/results", target_id=target)["items"] == [found]
    assert api.get("/api/results", target_id="default/other")["items"] == []


def test_an_unknown_session_is_404(api: Api) -> None:
    answer = api.http.get("/api/sessions/none/explain")
    assert answer.status_code == 404
    assert "no trace is of the session 'none'" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["s"], 0, LINE),
        (["s", "--project", "default"], 0, LINE),
        ([HEX_ID], 0, LINE),
        ([HEX_ID, "--session"], 0, LINE),
        (["s", "--project", "shop"], 2, "it is in 'default'"),
        (["none"], 2, "no trace is of the session"),
        (["f" * 32], 2, "no trace has the id"),
        (["f" * 32, "--project", "shop"], 2, "--project is for a session"),
    ],
)
def test_the_command_line_tells_traces_from_sessions(
    api: Api, arguments: list[str], code: int, said: str
) -> None:
    judged(api, "s", HEX_ID)
    with served(api) as url:
        result = CliRunner().invoke(app, ["explain", *arguments, "--url", url])
    assert (result.exit_code, said in result.output) == (code, True), result.output


def test_the_client_explains_sessions(api: Api) -> None:
    judged(api, "a/b")
    with served(api) as url, Client(url) as client:
        story = client.explain_session("a/b", project="default")
    assert (story.target_id, story.project) == ("default/a/b", "default")
    assert any(line.startswith(LINE) for line in story.lines)
