"""Caps, load and conversations of live rules, on a real store, across minutes and restarts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.runs import Runs
from tests.helpers.store import START_NS
from tests.helpers.worker import Bench, bench, child, root, trace_id
from tracejury.result import Score
from tracejury_collector.rules.pacing import MINUTE_NS

OUTCOMES = "SELECT outcome, count(*) FROM base.decisions GROUP BY ALL ORDER BY ALL"
CAP = 20


@contextmanager
def capped(path: Path, sample: dict[str, Any], **settings: Any) -> Iterator[Bench]:
    """Give a worker at the start of a minute, with one rule `r` that samples so."""
    rule = {"sample": sample, "evaluators": ["no-loops"]}
    with bench(path, {"rules": {"r": rule}, **settings}) as store:
        store.clock.now_ns = START_NS - START_NS % MINUTE_NS + MINUTE_NS
        store.restart()
        yield store


def finish(store: Bench, first: int, count: int, **fields: Any) -> None:
    """Receive so many traces, and finish them five seconds later."""
    store.spans(*(root(n, **fields) for n in range(first, first + count)))
    store.clock.advance(4.9)
    while store.worker.tick():
        pass


def next_minute(store: Bench) -> None:
    store.clock.now_ns += MINUTE_NS - store.clock.now_ns % MINUTE_NS


def test_a_cap_lowers_the_next_minute_and_stops_this_one_at_twice_as_many(tmp_path: Path) -> None:
    with capped(tmp_path, {"per_minute": CAP}) as store:
        finish(store, 1, 100)
        assert store.rows(OUTCOMES) == [("overloaded", 60), ("selected", 40)]
        overloaded = "SELECT DISTINCT reason, probability FROM base.decisions WHERE outcome = "
        assert store.rows(overloaded + "'overloaded'") == [
            ("40 were already selected in this minute, twice the cap of 20", None)
        ]
        next_minute(store)
        finish(store, 101, 200)
        now = "SELECT DISTINCT probability FROM base.decisions WHERE target_id >= ?"
        assert store.rows(now.replace("?", f"'{trace_id(101)}'")) == [(CAP / 100,)]
        next_minute(store)
        finish(store, 301, 1)
        assert store.rows(now.replace("?", f"'{trace_id(301)}'")) == [(CAP / 200,)]
        next_minute(store)
        next_minute(store)
        finish(store, 302, 1)
        assert store.rows(now.replace("?", f"'{trace_id(302)}'")) == [(1.0,)]


def test_a_restart_within_a_minute_changes_nothing(tmp_path: Path) -> None:
    def decided(name: str, *, restarts: bool) -> list[tuple[Any, ...]]:
        with capped(tmp_path / name, {"per_minute": CAP, "rate": 0.8}) as store:
            for batch in range(9):
                finish(store, 1 + batch * 40, 40)
                store.clock.advance(10)
                if restarts:
                    store.restart()
            return store.rows(
                "SELECT target_id, outcome, probability, reason FROM base.decisions ORDER BY ALL"
            )

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with_restarts = decided("one", restarts=True)
    assert with_restarts == decided("two", restarts=False)
    assert len({row[2] for row in with_restarts}) > 2


def test_what_always_counts_is_capped_too_and_rates_keep_their_proportions(tmp_path: Path) -> None:
    sample = {"rate": 0.5, "always": ["service_name = 'vip'"], "per_minute": CAP}
    with capped(tmp_path, sample) as store:
        finish(store, 1, 40)
        finish(store, 41, 60, service_name="vip", resource="{}")
        next_minute(store)
        finish(store, 101, 50)
        finish(store, 151, 50, service_name="vip", resource="{}")
        factor = CAP / (0.5 * 40 + 60)
        found = store.rows(
            "SELECT DISTINCT stratum, probability FROM base.decisions "
            f"WHERE target_id >= '{trace_id(101)}' ORDER BY ALL"
        )
        assert found == [("always", pytest.approx(factor)), (None, pytest.approx(factor / 2))]


def test_a_trace_that_was_judged_is_judged_again_when_the_cap_has_moved(tmp_path: Path) -> None:
    with capped(tmp_path, {"per_minute": CAP}) as store:
        finish(store, 1, 30)
        store.judge(Score(1.0))
        next_minute(store)
        finish(store, 100, 300)
        next_minute(store)
        store.restart()
        store.spans(*(child(n) for n in range(1, 31)))
        while store.after(10):
            pass
        again = "SELECT outcome, probability, count(*) FROM base.decisions WHERE revision = 2"
        assert store.rows(again + " GROUP BY ALL") == [("selected", 1.0, 30)]


def test_a_conversation_keeps_to_the_cap_that_it_met_first(tmp_path: Path) -> None:
    def talk(store: Bench, first: int, count: int, session: str) -> None:
        attributes = (
            f'{{"gen_ai.operation.name":"invoke_agent","gen_ai.conversation.id":"{session}"}}'
        )
        finish(store, first, count, attributes=attributes)

    chance = "SELECT DISTINCT session_id, probability FROM base.decisions ORDER BY ALL"
    with capped(tmp_path, {"per_minute": CAP, "by": "session"}) as store:
        talk(store, 1, 30, "early")
        next_minute(store)
        talk(store, 31, 10, "late")
        next_minute(store)
        talk(store, 41, 5, "early")
        store.restart()
        talk(store, 46, 5, "early")
        talk(store, 51, 5, "late")
        assert store.rows(chance) == [("early", 1.0), ("late", CAP / 30)]


def test_what_the_jury_cannot_take_is_overloaded(tmp_path: Path) -> None:
    with capped(tmp_path, {}, jury={"backlog": 10}) as store:
        finish(store, 1, 8)
        finish(store, 9, 8)
        assert store.rows(OUTCOMES) == [("overloaded", 6), ("selected", 10)]
        assert store.rows("SELECT count(*) FROM base.jobs") == [(10,)]
        store.judge(Score(1.0))
        finish(store, 17, 3)
        assert store.rows(OUTCOMES) == [("overloaded", 6), ("selected", 13)]
        story = store.stories.of_trace(trace_id(16))["lines"]
        assert "10 decisions wait for the jury already (jury.backlog)" in story[-1]


def test_jobs_of_runs_leave_no_live_trace_unjudged(tmp_path: Path) -> None:
    with capped(tmp_path, {}, jury={"backlog": 10}) as store:
        finish(store, 1, 10)
        store.judge(Score(1.0))
        runs = Runs(store)
        runs.start(rule="r", rejudge=True)
        runs.decide()
        assert store.rows("SELECT count(*) FROM base.jobs") == [(10,)]
        finish(store, 11, 3)
        live = "SELECT DISTINCT outcome FROM base.decisions WHERE run_id = ''"
        assert store.rows(live) == [("selected",)]


def test_a_rule_out_of_budget_selects_nothing(tmp_path: Path) -> None:
    with capped(tmp_path, {"rate": 0.5}) as store:
        store.budget_refusals["r"] = "the budget of rule 'r' is used up"
        store.restart()
        finish(store, 1, 50)
        found = dict(store.rows(OUTCOMES))
        assert set(found) == {"over_budget", "sampled_out"}
        reasons = "SELECT DISTINCT reason, probability FROM base.decisions WHERE outcome = "
        assert store.rows(reasons + "'over_budget'") == [("the budget of rule 'r' is used up", 0.5)]


def test_a_stratum_that_fails_on_one_trace_fails_only_there(tmp_path: Path) -> None:
    strata = {"seven": {"where": "service_name::INTEGER = 7", "rate": 0.0}}
    with capped(tmp_path, {"strata": strata}) as store:
        for n, service in enumerate(("7", "8", "x"), start=1):
            store.spans(root(n, service_name=service, resource="{}"))
        store.after(4)
        found = "SELECT outcome, stratum FROM base.decisions ORDER BY target_id"
        assert store.rows(found) == [
            ("sampled_out", "seven"),
            ("selected", None),
            ("condition_failed", "seven"),
        ]
        line = store.stories.of_trace(trace_id(3))["lines"][-1]
        assert "condition failed, stratum 'seven': its condition" in line
        assert "Conversion Error" in line


def test_metrics_count_what_was_decided_and_forget_rules_that_are_gone(tmp_path: Path) -> None:
    with capped(tmp_path, {"per_minute": CAP}) as store:
        finish(store, 1, 50)
        decider = store.worker.decider
        assert decider.outcomes == {("r", "selected"): 40, ("r", "overloaded"): 10}
        next_minute(store)
        finish(store, 51, 1)
        assert decider.factors == {"r": CAP / 50}
        decider.outcomes["gone", "selected"] = 7
        finish(store, 52, 1)
        assert {rule for rule, _ in decider.outcomes} == {"r"}
