"""Sessions are finished when they fall idle, judged as a whole, and again when there is news."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.helpers.worker import Bench, Clock, bench, child, root, trace_id
from tracejury.codec import load_trace
from tracejury.result import Score
from tracejury_collector.jury.intake import Intake
from tracejury_collector.jury.traces import TraceSource
from tracejury_collector.session_ids import session_of, session_target

IDLE_S = 900
RULES: dict[str, dict[str, Any]] = {
    "whole": {"target": "session", "evaluators": ["non-empty-output"]},
    "each": {"evaluators": ["no-loops"]},
}
REVISIONS = (
    "SELECT target_id, revision, list_sort([m.trace_id for m in members]), superseded "
    "FROM base.session_revisions ORDER BY ALL"
)
DECISIONS = (
    "SELECT target_id, revision, outcome FROM base.decisions "
    "WHERE target_kind = 'session' ORDER BY ALL"
)
RESULTS = (
    "SELECT target_id, revision, trace_id, superseded FROM base.results "
    "WHERE target_kind = 'session' ORDER BY ALL"
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path, {"rules": RULES}) as built:
        yield built


def said(trace: int, session: str = "chat", **fields: Any) -> dict[str, Any]:
    """Return the ended root span of a trace in a session."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "booker",
        "gen_ai.conversation.id": session,
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": f"answer {trace}"}]}]
        ),
    }
    return root(trace, attributes=json.dumps(attributes), session_id=session, **fields)


def later(store: Bench, seconds: float) -> None:
    """Let time pass, then tick until nothing is left to do."""
    store.clock.advance(seconds)
    while store.worker.tick():
        pass


def judged(store: Bench) -> list[Any]:
    """Return what the jury would be given of sessions."""
    jobs = Intake(store.db, store.definitions.seat_of).read_all(1000)
    sessions = [job for _, job, _ in jobs if job.pending.target_kind == "session"]
    _, data = TraceSource(store.db).fetch(sessions, 1 << 20)
    return [load_trace(data[job.pending.trace_key]) for job in sessions]


def test_a_session_is_judged_once_it_was_idle_for_long(store: Bench) -> None:
    store.spans(said(1))
    later(store, 4)
    store.clock.advance(300)
    store.spans(said(2))
    later(store, 4)
    later(store, IDLE_S - 20)
    assert store.rows(REVISIONS) == []
    later(store, 20)
    assert store.rows(REVISIONS) == [("default/chat", 1, [trace_id(1), trace_id(2)], False)]
    assert store.rows(DECISIONS) == [("default/chat", 1, "selected")]
    assert store.rows("FROM base.open_sessions") == []
    later(store, 10 * IDLE_S)
    assert len(store.rows(REVISIONS)) == 1


def test_the_jury_is_given_the_session_as_one_trace(store: Bench) -> None:
    store.spans(said(1), said(2), said(3, "other"), child(2))
    later(store, 4)
    later(store, IDLE_S)
    chat, other = sorted(judged(store), key=lambda trace: trace.trace_id)
    assert (chat.trace_id, chat.session_id, chat.kind) == ("chat", "chat", "agent")
    assert [turn.output for turn in chat.turns] == ["answer 1", "answer 2"]
    assert (len(chat.spans), chat.flags.truncated) == (3, False)
    assert [turn.output for turn in other.turns] == ["answer 3"]


def test_sessions_of_one_id_in_two_projects_are_two_targets(store: Bench) -> None:
    store.spans(said(1), said(2, project="a/b"))
    later(store, 4)
    later(store, IDLE_S)
    assert store.rows(REVISIONS) == [
        ("a%2Fb/chat", 1, [trace_id(2)], False),
        ("default/chat", 1, [trace_id(1)], False),
    ]
    kept = store.rows("SELECT project, session_id FROM base.decisions WHERE target_kind='session'")
    assert sorted(kept) == [("a/b", "chat"), ("default", "chat")]


@pytest.mark.parametrize("project", ["default", "a/b", "50%", "%2F", "", "é/%25"])
@pytest.mark.parametrize("session", ["chat", "a/b", "%", ""])
def test_the_target_of_a_session_names_its_project_and_its_id(project: str, session: str) -> None:
    assert session_of(session_target(project, session)) == (project, session)


@pytest.mark.parametrize("news", [said(2), child(1, 7)])
def test_a_late_trace_or_span_makes_the_next_revision(store: Bench, news: dict[str, Any]) -> None:
    store.spans(said(1))
    later(store, 4)
    later(store, IDLE_S)
    store.judge(Score(1.0))
    store.spans(news)
    later(store, 4)
    assert store.rows(RESULTS) == [("default/chat", 1, "", False)]
    later(store, IDLE_S)
    store.judge(Score(1.0))
    assert [row[:2] + row[3:] for row in store.rows(REVISIONS)] == [
        ("default/chat", 1, True),
        ("default/chat", 2, False),
    ]
    assert store.rows(RESULTS) == [("default/chat", 1, "", True), ("default/chat", 2, "", False)]
    assert store.rows("FROM base.jobs") == []


def test_a_result_that_comes_after_the_next_revision_is_not_current(store: Bench) -> None:
    store.spans(said(1))
    later(store, 4)
    later(store, IDLE_S)
    assert len(judged(store)) == 1
    store.spans(said(2))
    later(store, 4)
    later(store, IDLE_S)
    assert [trace.revision for trace in judged(store)] == [2]


@pytest.mark.parametrize("opened", [said(2, end_time_unix_nano=0), child(1, 7, session_id=None)])
def test_a_session_waits_for_its_open_traces(tmp_path: Path, opened: dict[str, Any]) -> None:
    settings = {"rules": RULES, "completion": {"idle": "2h", "max_age": "3h", "after_root": "1h"}}
    with bench(tmp_path, settings) as slow:
        slow.spans(said(1, marker=True))
        later(slow, 1)
        slow.clock.advance(IDLE_S - 60)
        slow.spans(opened)
        later(slow, 120)
        assert slow.rows(REVISIONS) == []
        later(slow, 3 * 3600)
        later(slow, IDLE_S)
        assert len(slow.rows(REVISIONS)) == 1


def test_without_a_rule_on_sessions_nothing_is_kept_of_them(tmp_path: Path) -> None:
    with bench(tmp_path, {"rules": {"each": RULES["each"]}}) as store:
        store.spans(said(1))
        later(store, 4)
        later(store, IDLE_S)
        assert store.rows("FROM base.open_sessions") == []
        assert store.rows(REVISIONS) == []


def test_a_restart_in_between_loses_nothing(store: Bench) -> None:
    store.spans(said(1))
    later(store, 4)
    store.restart()
    later(store, IDLE_S + 1)
    assert store.rows(DECISIONS) == [("default/chat", 1, "selected")]
    store.spans(child(1, 8))
    store.restart()
    later(store, 121)
    store.restart()
    later(store, IDLE_S + 1)
    assert store.rows(DECISIONS)[1] == ("default/chat", 2, "selected")


def test_quiet_counts_from_when_the_service_began_to_listen(store: Bench) -> None:
    store.spans(said(1))
    later(store, 4)
    store.clock.advance(2 * IDLE_S)
    store.restart()
    later(store, IDLE_S - 1)
    assert store.rows(REVISIONS) == []
    later(store, 15)
    assert len(store.rows(REVISIONS)) == 1


def test_a_trace_that_turns_out_to_belong_elsewhere_leaves_its_session(store: Bench) -> None:
    store.spans(child(1, 2, session_id="first", attributes=named("first"), marker=True))
    later(store, 0)
    later(store, IDLE_S)
    store.judge(Score(1.0))
    store.spans(said(1, "second"))
    later(store, 4)
    later(store, IDLE_S)
    assert store.rows(REVISIONS) == [
        ("default/first", 1, [trace_id(1)], True),
        ("default/second", 1, [trace_id(1)], False),
    ]
    assert store.rows(RESULTS) == [("default/first", 1, "", True)]
    store.spans(said(5, "first"))
    later(store, 4)
    later(store, IDLE_S)
    assert ("default/first", 2, [trace_id(5)], False) in store.rows(REVISIONS)


def named(session: str) -> str:
    return json.dumps({"gen_ai.operation.name": "execute_tool", "gen_ai.conversation.id": session})


def test_conditions_are_over_the_view_of_sessions(tmp_path: Path) -> None:
    where = "runs >= 2 AND list_contains(agent_names, 'booker') AND start_time IS NOT NULL"
    rule = {**RULES["whole"], "where": where}
    failing = {**RULES["whole"], "where": "CAST(session_id AS INTEGER) > 0"}
    with bench(tmp_path, {"rules": {"long": rule, "numbered": failing}}) as store:
        store.spans(said(1, "7"), said(2, "7"), said(3, "x"))
        later(store, 4)
        later(store, IDLE_S)
        found = store.rows("SELECT rule, target_id, outcome FROM base.decisions ORDER BY ALL")
        assert found == [
            ("long", "default/7", "selected"),
            ("long", "default/x", "filtered"),
            ("numbered", "default/7", "selected"),
            ("numbered", "default/x", "condition_failed"),
        ]


def test_a_session_that_goes_on_and_on_is_held_and_in_the_end_not_judged(tmp_path: Path) -> None:
    settings = {"rules": RULES, "completion": {"max_revisions": 4}}
    with bench(tmp_path, settings) as store:
        waits = []
        for number in range(1, 7):
            store.spans(said(number))
            later(store, 4)
            waits.append(0)
            while len(store.rows(DECISIONS)) < number:
                later(store, IDLE_S)
                waits[-1] += 1
        assert waits == [1, 1, 1, 2, 4, 4]
        outcomes = [outcome for _, _, outcome in store.rows(DECISIONS)]
        assert outcomes == ["selected"] * 4 + ["revision_limit"] * 2


def test_a_session_of_very_many_traces_is_judged_on_the_latest(
    store: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracejury_collector.store.session_revisions.MAX_MEMBERS", 3)
    starts = [said(n, start_time_unix_nano=n, start_time=n) for n in range(1, 6)]
    store.spans(*starts)
    later(store, 4)
    later(store, IDLE_S)
    assert store.rows("SELECT traces, len(members) FROM base.session_revisions") == [(5, 3)]
    (session,) = judged(store)
    assert [turn.output for turn in session.turns] == ["answer 3", "answer 4", "answer 5"]
    assert session.flags.truncated


def test_a_session_whose_latest_trace_alone_is_too_large_is_judged_on_it(
    store: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracejury_collector.store.session_revisions.MAX_SPANS", 2)
    store.spans(said(1, start_time_unix_nano=1, start_time=1))
    store.spans(said(2), child(2, 2), child(2, 3))
    later(store, 4)
    later(store, IDLE_S)
    members = store.rows("SELECT [m.trace_id for m in members] FROM base.session_revisions")
    assert members == [([trace_id(2)],)]


def test_a_session_that_cannot_be_decided_does_not_keep_others(
    store: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.spans(said(1, "bad"), said(2, "good"))
    later(store, 4)
    store.clock.advance(IDLE_S)
    choose = store.worker.sessions._decider.decide

    def decide(rules: Any, subjects: Any, *rest: Any) -> list[Any]:
        if any(subject.session_id == "bad" for subject in subjects):
            raise RuntimeError("this session breaks it")
        return choose(rules, subjects, *rest)

    monkeypatch.setattr(store.worker.sessions._decider, "decide", decide)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="breaks"):
            store.worker.tick()
        assert store.worker.sessions.isolate("it breaks")
        if store.worker.sessions._given_up:
            break
    store.worker.tick()
    assert store.rows(DECISIONS) == [("default/good", 1, "selected")]


def test_a_session_that_does_not_fit_into_memory_is_given_up_and_no_trace(
    store: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.spans(said(1, "bad"), said(2, "good"))
    later(store, 4)
    store.clock.advance(IDLE_S)
    choose, grown = store.worker.sessions._decider.decide, []

    def decide(rules: Any, subjects: Any, *rest: Any, **options: Any) -> list[Any]:
        if any(subject.session_id == "bad" for subject in subjects):
            raise duckdb.OutOfMemoryException("out of memory")
        return choose(rules, subjects, *rest, **options)

    def grow(error: Exception) -> bool:
        grown.append(error)
        return len(grown) < 3

    monkeypatch.setattr(store.worker.sessions._decider, "decide", decide)
    monkeypatch.setattr(store.db, "grow", grow)
    store.worker.run(Ticks(10, store.clock))
    assert len(grown) == 3
    assert store.worker.sessions._given_up == {"default/bad"}
    assert store.rows(DECISIONS) == [("default/good", 1, "selected")]
    store.spans(said(3, "good"))
    later(store, 4)
    assert store.rows("SELECT count(*) FROM base.traces") == [(3,)]


class Ticks(threading.Event):
    """Set after so many ticks; pauses in between are of the clock that tests set."""

    def __init__(self, ticks: int, clock: Clock) -> None:
        super().__init__()
        self._left = ticks
        self._clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        self._clock.advance(IDLE_S / 60)
        self._left -= 1
        if not self._left:
            self.set()
        return self.is_set()


def test_rules_that_come_while_running_find_sessions_from_then_on(
    store: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = store.definitions.in_force()
    rules = tuple(rule for rule in every.rules if rule.target == "trace")
    with monkeypatch.context() as before:
        before.setattr(store.worker, "_in_force", lambda: replace(every, rules=rules))
        store.spans(said(1), said(2, "other"))
        later(store, 4)
    later(store, 2 * IDLE_S)
    assert store.rows(DECISIONS) == []
    store.spans(said(3))
    later(store, 4)
    later(store, IDLE_S)
    assert store.rows(REVISIONS) == [("default/chat", 1, [trace_id(1), trace_id(3)], False)]
