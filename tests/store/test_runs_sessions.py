"""Runs judge sessions as live traffic would, with or without a rule that does so live."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.runs import Runs
from tests.helpers.worker import Bench, bench, child, root, trace_id
from tracejury.codec import load_trace
from tracejury.result import Score
from tracejury_collector.errors import InvalidRequest, SqlRefused
from tracejury_collector.jury.intake import Intake
from tracejury_collector.jury.traces import TraceSource
from tracejury_collector.runs import driver as driving
from tracejury_collector.runs.choosing import decide_targets
from tracejury_collector.runs.paging import next_page
from tracejury_collector.runs.plan import RunRequest, conditions_of, plan_of
from tracejury_collector.store.ledger import Ledger
from tracejury_collector.store.runs import StepWrite
from tracejury_collector.store.targets import TargetFilter

PASS = Score(value=1.0, verdict="pass")
IDLE_S = 900
EACH = {"evaluators": ["no-loops"]}
WHOLE = {"target": "session", "evaluators": ["non-empty-output"]}
THIRD = {**WHOLE, "sample": {"rate": 0.3}}
REVISIONS = (
    "SELECT target_id, revision, list_sort([m.trace_id for m in members]), superseded "
    "FROM base.session_revisions ORDER BY ALL"
)


def said(trace: int, session: str, **fields: Any) -> dict[str, Any]:
    """Return the ended root span of a trace in a session."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": session,
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": f"answer {trace}"}]}]
        ),
    }
    return root(trace, attributes=json.dumps(attributes), session_id=session, **fields)


def talk(store: Bench, sessions: Mapping[int, str], **fields: Any) -> None:
    """Receive and finish a trace in each of these sessions, by its number."""
    for number, session in sessions.items():
        store.spans(said(number, session, **fields))
    tick(store, 4)


def tick(store: Bench, seconds: float) -> None:
    store.clock.advance(seconds)
    while store.worker.tick():
        pass


@contextmanager
def opened(path: Path, **rules: Any) -> Iterator[Runs]:
    with bench(path, {"rules": {"each": EACH, **rules}}) as store:
        yield Runs(store)


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    """Sessions of a time when no rule judged any, in two projects, and a rule that does."""
    with opened(tmp_path) as former:
        talk(former.store, {1: "a", 2: "b", 3: "a", 4: "c", 5: "b"})
        talk(former.store, {6: "a"}, project="other")
        former.store.spans(root(7))
        tick(former.store, 4)
        former.store.judge(PASS)
    with opened(tmp_path, whole=WHOLE, third=THIRD) as found:
        yield found


def outcomes(runs: Runs, run_id: str) -> dict[str, str]:
    sql = f"SELECT target_id, outcome FROM base.decisions WHERE run_id = '{run_id}'"
    return dict(runs.store.rows(sql))


def selected(runs: Runs, **request: Any) -> set[str]:
    run_id = runs.start(**request)
    runs.decide()
    return {target for target, outcome in outcomes(runs, run_id).items() if outcome == "selected"}


def test_history_without_any_session_rule_is_judged_as_a_whole(runs: Runs) -> None:
    run_id = runs.start(rule="whole")
    assert (runs.show(run_id).run.targets, runs.show(run_id).plan.target) == (4, "session")
    runs.decide()
    assert runs.store.rows(REVISIONS) == [
        ("default/a", 1, [trace_id(1), trace_id(3)], False),
        ("default/b", 1, [trace_id(2), trace_id(5)], False),
        ("default/c", 1, [trace_id(4)], False),
        ("other/a", 1, [trace_id(6)], False),
    ]
    jobs = Intake(runs.store.db, runs.store.definitions.seat_of).read_all(100)
    _, data = TraceSource(runs.store.db).fetch([job for _, job, _ in jobs], 1 << 20)
    told = {key: load_trace(text) for key, text in data.items()}
    assert {key: len(trace.spans) for key, trace in told.items()} == {
        ("default/a", 1): 2,
        ("default/b", 1): 2,
        ("default/c", 1): 1,
        ("other/a", 1): 1,
    }
    assert told["default/b", 1].output_text == "answer 5"
    runs.store.judge(PASS)
    runs.decide()
    shown = runs.show(run_id)
    assert (shown.run.state, shown.judged, shown.share) == ("done", 4, 1.0)


def test_a_second_run_takes_the_revisions_of_the_first(runs: Runs) -> None:
    selected(runs, rule="whole")
    runs.store.judge(PASS)
    before = runs.store.rows(REVISIONS)
    again = runs.start(rule="whole")
    runs.decide()
    assert (runs.show(again).to_judge, runs.show(again).counts.judged) == (0, 4)
    assert runs.store.rows(REVISIONS) == before
    assert runs.store.rows(
        "SELECT count(*) FROM base.results WHERE superseded AND target_kind = 'session'"
    ) == [(0,)]


def test_pages_of_any_size_decide_each_session_once(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "PAGE", 1)
    run_id = runs.start(rule="whole")
    runs.decide()
    counted = f"SELECT target_id, count(*) FROM base.decisions WHERE run_id = '{run_id}' GROUP BY 1"
    assert sorted(runs.store.rows(counted)) == [
        ("default/a", 1),
        ("default/b", 1),
        ("default/c", 1),
        ("other/a", 1),
    ]


def test_a_dry_run_counts_sessions_and_makes_no_revision(runs: Runs) -> None:
    _, found = runs.desk.estimate(RunRequest(rule="whole"))
    assert (found.total, found.counts.examined, found.counts.targets) == (4, 4, 4)
    assert [e.to_judge for e in found.evaluators] == [4]
    assert runs.store.rows(REVISIONS) == []


def test_the_sample_is_that_of_live_traffic(tmp_path: Path) -> None:
    with opened(tmp_path, third=THIRD) as runs:
        talk(runs.store, {n: f"s{n}" for n in range(1, 31)})
        tick(runs.store, IDLE_S + 20)
        live = dict(
            runs.store.rows("SELECT target_id, outcome FROM base.decisions WHERE rule = 'third'")
        )
        run_id = runs.start(rule="third")
        runs.decide()
        assert set(live.values()) == {"selected", "sampled_out"}
        assert outcomes(runs, run_id) == live
        assert len(runs.store.rows(REVISIONS)) == 30


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("traces > 1", {"default/a", "default/b"}),
        ("session_id = 'a'", {"default/a", "other/a"}),
        ("project = 'other'", {"other/a"}),
        ("input_tokens > 10", set()),
    ],
)
def test_conditions_are_over_sessions(runs: Runs, where: str, found: set[str]) -> None:
    assert selected(runs, rule="whole", where=where) == found


def test_the_rule_has_its_condition_over_sessions(tmp_path: Path) -> None:
    with opened(tmp_path, long={**WHOLE, "where": "traces > 1"}) as runs:
        talk(runs.store, {1: "a", 2: "b", 3: "a"})
        tick(runs.store, IDLE_S + 20)
        assert selected(runs, rule="long", rejudge=True) == {"default/a"}


def test_times_choose_sessions_by_the_start_of_any_of_their_traces(runs: Runs) -> None:
    ((last,),) = runs.store.rows("SELECT epoch_ns(max(start_time)) FROM base.traces")
    for bounds, count in ((TargetFilter(since_ns=last + 1), 0), (TargetFilter(until_ns=1), 0)):
        assert runs.show(runs.start(rule="whole", targets=bounds)).run.targets == count
    whole = TargetFilter(since_ns=1, until_ns=last + 1)
    assert len(selected(runs, rule="whole", targets=whole)) == 4


def test_news_of_a_time_without_rules_makes_the_next_revision(tmp_path: Path) -> None:
    with opened(tmp_path, whole=WHOLE) as runs:
        talk(runs.store, {1: "a", 2: "b"})
        tick(runs.store, IDLE_S + 20)
        runs.store.judge(PASS)
    with opened(tmp_path) as runs:
        talk(runs.store, {3: "a"})
    with opened(tmp_path, whole=WHOLE) as runs:
        assert selected(runs, rule="whole") == {"default/a", "default/b"}
        assert runs.store.rows(REVISIONS) == [
            ("default/a", 1, [trace_id(1)], True),
            ("default/a", 2, [trace_id(1), trace_id(3)], False),
            ("default/b", 1, [trace_id(2)], False),
        ]
        results = "SELECT target_id, superseded FROM base.results WHERE target_kind = 'session'"
        assert sorted(runs.store.rows(results)) == [("default/a", True), ("default/b", False)]
        assert runs.store.rows("SELECT target_id FROM base.jobs WHERE run_id <> ''") == [
            ("default/a",)
        ]


@pytest.mark.parametrize("change", ["new trace", "late span", "moved"])
def test_no_result_stays_current_on_a_session_that_changed_while_no_rule_judged_it(
    tmp_path: Path, change: str
) -> None:
    with opened(tmp_path, whole=WHOLE) as runs:
        talk(runs.store, {1: "a", 2: "b"})
        tick(runs.store, IDLE_S + 20)
        assert runs.store.judge(PASS)
    with opened(tmp_path) as runs:
        if change == "new trace":
            talk(runs.store, {3: "a"})
        else:
            session = {"session_id": "elsewhere"} if change == "moved" else {}
            runs.store.spans(child(1, 2, **session))
            tick(runs.store, 200)
        assert current(runs.store) == [("default/b",)]
        runs.store.spans(root(8))
        tick(runs.store, 4)
        assert current(runs.store) == [("default/b",)]


def test_news_that_waits_when_the_last_rule_goes_ends_what_was_found(tmp_path: Path) -> None:
    with opened(tmp_path, whole=WHOLE) as runs:
        talk(runs.store, {1: "a", 2: "b"})
        tick(runs.store, IDLE_S + 20)
        runs.store.judge(PASS)
        talk(runs.store, {3: "a"})
        assert current(runs.store) == [("default/a",), ("default/b",)]
    with opened(tmp_path) as runs:
        runs.store.worker.tick()
        assert current(runs.store) == [("default/b",)]
    with opened(tmp_path, whole=WHOLE) as runs:
        tick(runs.store, 3 * IDLE_S)
        found = [("default/a", 2, [trace_id(1), trace_id(3)], False)]
        assert runs.store.rows(REVISIONS)[1:2] == found


def current(store: Bench) -> list[Any]:
    """Return the sessions with results that are not superseded."""
    return store.rows(
        "SELECT target_id FROM base.results "
        "WHERE target_kind = 'session' AND NOT superseded ORDER BY ALL"
    )


def test_a_session_that_goes_on_is_left_to_the_rule_in_force(tmp_path: Path) -> None:
    with opened(tmp_path, whole=WHOLE) as runs:
        talk(runs.store, {1: "a"})
        tick(runs.store, IDLE_S + 20)
        talk(runs.store, {2: "a", 3: "b"})
        run_id = runs.start(rule="whole", rejudge=True)
        runs.decide()
        assert outcomes(runs, run_id) == {"default/a": "selected"}
        assert runs.show(run_id).counts.examined == 2
        assert runs.store.rows(REVISIONS) == [("default/a", 1, [trace_id(1)], False)]
        tick(runs.store, IDLE_S + 20)
        assert runs.store.rows(REVISIONS)[1:] == [
            ("default/a", 2, [trace_id(1), trace_id(2)], False),
            ("default/b", 1, [trace_id(3)], False),
        ]


@pytest.mark.parametrize("news", ["late span", "revision"])
def test_a_page_with_news_is_read_again(runs: Runs, news: str) -> None:
    run_id = runs.start(rule="whole")
    plan = plan_of(runs.show(run_id).run.plan)
    with runs.store.db.read() as cursor:
        page = next_page(cursor, plan, 1 << 40, 100, is_live=False)
    if news == "late span":
        runs.store.spans(child(4, 2))
        tick(runs.store, 200)
    else:
        selected(runs, rule="whole", where="session_id = 'c'")
    ledger = Ledger()
    with conditions_of(plan.rule) as conditions:
        for item in decide_targets(plan.rule, run_id, conditions, page, {}):
            ledger.add(item.decision, 0)
    before = runs.store.rows(REVISIONS)
    write = StepWrite(runs.show(run_id).run, page, ledger, 0, {}, 0)
    assert runs.store.db.write(write).result() == "stale"
    assert runs.store.rows(REVISIONS) == before


def test_a_session_that_comes_up_again_is_decided_once(runs: Runs) -> None:
    selected(runs, rule="whole")  # so that its revision is there
    run_id = runs.start(rule="whole", rejudge=True)
    plan = plan_of(runs.show(run_id).run.plan)
    with runs.store.db.read() as cursor:
        page = next_page(cursor, plan, 1 << 40, 100, is_live=False)
    for _ in range(2):  # as where a session has lost its first trace, and begins further below
        run, ledger = runs.show(run_id).run, Ledger()
        with conditions_of(plan.rule) as conditions:
            for item in decide_targets(plan.rule, run_id, conditions, page, {}):
                ledger.add(item.decision, runs.store.clock())
        write = StepWrite(run, page, ledger, 0, run.counts, 0)
        assert runs.store.db.write(write).result() == "written"
    twice = f"SELECT target_id FROM base.{{}} WHERE run_id = '{run_id}' ORDER BY ALL"
    once = [("default/a",), ("default/b",), ("default/c",), ("other/a",)]
    assert runs.store.rows(twice.format("decisions")) == once
    assert runs.store.rows(twice.format("jobs")) == once


def test_what_cannot_be_asked_of_sessions_is_refused(runs: Runs) -> None:
    ids = TargetFilter(trace_ids=(trace_id(1),))
    with pytest.raises(InvalidRequest, match="session_id = 'a'"):
        runs.start(rule="whole", targets=ids)
    with pytest.raises(SqlRefused, match="latency_ms"):
        runs.start(rule="whole", where="latency_ms > 1")
