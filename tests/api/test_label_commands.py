"""The commands about labels, against a real server."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from tests.helpers.api import Api, agent_run
from tracejury import score
from tracejury.cli import app

TRACE, SPAN = f"{1:032x}", f"{1:015x}1"


def run(*args: str, width: int = 80, **env: str) -> Result:
    return CliRunner(env={"COLUMNS": str(width), "TRACEJURY_URL": "", **env}).invoke(app, args)


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("pass", (1.0, "pass", None)),
        ("TRUE", (1.0, "pass", 1.0)),
        ("false", (0.0, "fail", 0.0)),
        ("0.25", (0.25, None, 0.25)),
        ("4", (None, None, 4.0)),
        ("so so", (None, None, None)),
    ],
)
def test_a_label_is_stored(
    api: Api, url: str, value: str, stored: tuple[float | None, str | None, float | None]
) -> None:
    result = run("label", TRACE, "correct", value, "--url", url)
    assert result.exit_code == 0, result.output
    [item] = api.get("/api/labels")["items"]
    assert (item["score"], item["verdict"], item["value"]) == stored
    assert f"label {item['label_id']} stored" in result.stdout


def test_a_trace_that_has_not_come_is_told(api: Api, url: str) -> None:
    assert "waits for it" in run("label", TRACE, "correct", "pass", "--url", url).stdout
    api.store(*agent_run(1))
    assert "waits for it" not in run("label", TRACE, "correct", "pass", "--url", url).stdout


def test_a_span_an_author_and_an_id_of_ones_own(api: Api, url: str) -> None:
    args = ("--span", SPAN, "--id", "row-1", "--comment", "why", "--url", url)
    assert run("label", TRACE, "x", "1", *args, TRACEJURY_AUTHOR="ann").exit_code == 0
    again = run("label", TRACE, "x", "1", *args, "--json", TRACEJURY_AUTHOR="ann")
    assert json.loads(again.stdout)["unchanged"] == 1
    assert "changed" in run("label", TRACE, "x", "0", *args, "--author", "bob").stdout
    [item] = api.get("/api/labels")["items"]
    assert (item["span_id"], item["author"], item["comment"]) == (SPAN, "bob", "why")


def test_a_session_is_labeled_and_listed(api: Api, url: str) -> None:
    stored = run("label", "chat 7", "resolved", "true", "--session", "--project", "p", "--url", url)
    assert stored.exit_code == 0, stored.output
    listed = run("labels", "--session", "chat 7", "--json", "--url", url)
    [item] = json.loads(listed.stdout)["items"]
    assert (item["target_kind"], item["project"]) == ("session", "p")


def test_labels_are_listed_and_cannot_steer_the_terminal(api: Api, url: str) -> None:
    run("label", TRACE, "correct", "fail", "--comment", "\x1b[31mred", "--url", url)
    for width in (80, 200):
        shown = run("labels", "--verdict", "fail", "--url", url, width=width).stdout
        assert TRACE in shown
        assert "\\x1b[31mred" in shown
        assert "\x1b" not in shown
    assert run("labels", "--name", "other", "--url", url).stdout == "no labels\n"


def test_what_was_said_is_in_the_explanation(api: Api, url: str) -> None:
    api.store(*agent_run(1))
    api.finish()
    run("label", TRACE, "correct", "fail", "--author", "ann", "--url", url)
    assert "label 'correct' by ann: fail" in run("explain", TRACE, "--url", url).stdout


def test_a_label_is_deleted(api: Api, url: str) -> None:
    run("label", TRACE, "x", "1", "--id", "a/b", "--url", url)
    assert run("unlabel", "a/b", "--json", "--url", url).stdout == '{\n  "deleted": "a/b"\n}\n'
    gone = run("unlabel", "a/b", "--url", url)
    assert gone.exit_code == 2
    assert "no label has the id" in gone.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((TRACE, "x", "nan"), "VALUE"),
        ((TRACE, "x", "1e999"), "VALUE"),
        (("xyz", "x", "1"), "trace_id"),
        ((TRACE, " ", "1"), "name"),
        (("chat", "x", "1", "--session", "--span", SPAN), "trace_id"),
    ],
)
def test_what_is_no_label_is_wrong_use(args: tuple[str, ...], said: str) -> None:
    result = run("label", *args, "--url", "http://127.0.0.1:9")
    assert result.exit_code == 2
    assert said in result.stderr


def test_no_service_is_another_exit_code() -> None:
    assert run("label", TRACE, "x", "1", "--url", "http://127.0.0.1:9").exit_code == 3


def test_a_program_scores_a_trace_whose_ids_it_kept(api: Api, url: str) -> None:
    assert score("helpful", True, trace_id=1, span_id=SPAN, author="u-17", url=url)
    assert score("resolved", "yes", session_id="chat", url=url)
    span, session = reversed(api.get("/api/labels")["items"])
    assert (span["trace_id"], span["span_id"], span["author"]) == (TRACE, SPAN, "u-17")
    assert (session["session_id"], session["label"]) == ("chat", "yes")
