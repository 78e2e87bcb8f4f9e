"""The whole story of a session, in words and as data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.worker import Bench, bench, child
from tests.store.test_worker_sessions import IDLE_S, RULES, later, said
from tracejury.result import Score
from tracejury_collector.errors import NotFound


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path, {"rules": RULES}) as built:
        yield built


def lines(store: Bench, session: str = "chat", project: str | None = None) -> list[str]:
    """Return the story in words."""
    told: list[str] = store.stories.of_session(session, project)["lines"]
    return told


def test_a_session_tells_what_it_waits_for(store: Bench) -> None:
    store.spans(said(1))
    assert lines(store) == ["not finished yet: 1 trace of it not finished"]
    later(store, 4)
    store.clock.advance(56)
    assert lines(store) == [
        "not finished yet: last arrival 60 s ago; finished in 14 min without news"
    ]
    store.spans(said(2, end_time_unix_nano=0))
    assert lines(store) == ["not finished yet: one of its traces is not finished"]


def test_a_judged_session_tells_of_its_revisions_decisions_and_results(store: Bench) -> None:
    store.spans(said(1))
    later(store, 4)
    later(store, IDLE_S)
    assert lines(store)[-1] == "  non-empty-output: waits for the jury"
    store.judge(Score(1.0))
    store.spans(child(1, 9))
    later(store, 4)
    later(store, IDLE_S)
    story = store.stories.of_session("chat", None)
    assert story["target_id"] == "default/chat"
    assert story["status"] == "complete"
    assert story["lines"] == [
        "revision 2: finished because nothing arrived any more, 1 trace",
        "revision 1 (superseded): finished because nothing arrived any more, 1 trace",
        "rule 'whole' on revision 2: selected, every session that passes is judged",
        "  non-empty-output: waits for the jury",
        "rule 'whole' on revision 1: selected, every session that passes is judged",
        "  non-empty-output (superseded): score 1",
    ]
    assert [m["trace_id"] for m in story["revisions"][0]["members"]] == [f"{1:032x}"]


def test_what_the_next_revision_overtook_is_not_said_to_wait(store: Bench) -> None:
    for number in (1, 2):
        store.spans(said(number))
        later(store, 4)
        later(store, IDLE_S)
    assert lines(store)[-1] == "  non-empty-output: not judged, a later revision took its place"


def test_without_a_rule_the_story_says_so(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        store.spans(said(1))
        later(store, 4)
        assert lines(store) == ["no rule judges sessions"]


def test_of_several_projects_the_one_active_last_is_told_of(store: Bench) -> None:
    store.spans(said(1))
    later(store, 4)
    store.spans(said(2, project="shop"))
    story = store.stories.of_session("chat", None)
    assert (story["project"], story["other_projects"]) == ("shop", ["default"])
    assert store.stories.of_session("chat", "default")["project"] == "default"
    with pytest.raises(NotFound, match="it is in 'shop', 'default'"):
        store.stories.of_session("chat", "nowhere")
    with pytest.raises(NotFound, match="no trace is of the session 'other'"):
        store.stories.of_session("other", None)
