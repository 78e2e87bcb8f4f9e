"""Runs judge history by the rules of live traffic, each pair once, and can be ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.runs import Runs, finish, runs_over_forty
from tests.helpers.worker import Bench, bench, child, root, trace_id
from tracejury.result import Failure, Score, Skip, Spent
from tracejury_collector.config import EvaluatorSpec
from tracejury_collector.runs import driver as driving
from tracejury_collector.runs.choosing import decide_targets
from tracejury_collector.runs.plan import RunRequest, conditions_of, plan_of
from tracejury_collector.store.ledger import Ledger
from tracejury_collector.store.runs import StepWrite, StoredRun, find_run
from tracejury_collector.store.targets import NO_SEQ, TargetFilter, next_targets, widening

PASS = Score(value=1.0, verdict="pass")
FAIL = Score(value=0.0, verdict="fail")
PAIRS = "SELECT target_id, evaluator FROM base.results WHERE run_id = '{}' ORDER BY ALL"


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    with runs_over_forty(tmp_path) as opened:
        yield opened


def test_a_run_leaves_out_what_live_judging_did(runs: Runs) -> None:
    runs.store.judge(PASS)
    run_id = runs.start(rule="default")
    runs.decide()
    shown = runs.show(run_id)
    assert shown.run.state == "done"
    assert (shown.run.targets, shown.counts.examined, shown.counts.judged) == (40, 40, 40)
    assert shown.counts.left_out == {"non-empty-output": 40, "no-loops": 40}
    assert runs.store.rows("SELECT count(*) FROM base.jobs") == [(0,)]
    reasons = set(runs.outcomes(run_id, "reason").values())
    assert all("judged already by 'non-empty-output', 'no-loops'" in reason for reason in reasons)


def test_sql_tells_of_runs_and_how_far_they_are(runs: Runs) -> None:
    live, free = runs.start(rule="third"), runs.start(evaluators=("defined-tools",))
    runs.decide()
    runs.desk.cancel(free)
    columns = "state, rule, target_kind, evaluators, rate, total, examined, to_judge"
    view = f"SELECT {columns}, since, candidate, ended_at IS NULL FROM runs WHERE run_id = '{{}}'"
    assert runs.show(live).counts.judged > 0
    assert runs.store.rows(view.format(live)) == [
        ("done", "third", "trace", ["no-loops"], 0.3, 40, 40, 0, None, None, False)
    ]
    assert runs.store.rows(view.format(free)) == [
        ("canceled", "", "trace", ["defined-tools"], 1.0, 40, 40, 40, None, None, False)
    ]


def test_what_waits_for_the_jury_is_not_asked_for_twice(runs: Runs) -> None:
    first = runs.start(rule="default", rejudge=True)
    runs.decide()
    second = runs.start(evaluators=("no-loops",))
    runs.decide()
    assert runs.show(first).to_judge == 80
    assert runs.show(second).to_judge == 0


def test_to_judge_again_is_to_judge_everything_once_more(runs: Runs) -> None:
    runs.store.judge(PASS)
    run_id = runs.start(rule="default", rejudge=True)
    runs.decide()
    assert runs.store.judge(FAIL) == 80
    runs.decide()
    assert len(set(runs.store.rows(PAIRS.format(run_id)))) == 80
    shown = runs.show(run_id)
    assert (shown.run.state, shown.judged, shown.share) == ("done", 80, 1.0)
    assert [(t.evaluator, t.not_passed) for t in sorted(shown.tallies, key=lambda t: t.evaluator)]


def test_a_run_samples_the_traces_that_live_traffic_did(runs: Runs) -> None:
    live = "SELECT target_id, outcome FROM base.decisions WHERE rule = 'third' AND run_id = ''"
    chosen = dict(runs.store.rows(live))
    assert set(chosen.values()) == {"selected", "sampled_out"}
    assert runs.outcomes(runs.decided(rule="third")) == chosen


def test_a_rate_takes_the_place_of_the_sample_and_stays_nested(runs: Runs) -> None:
    some = _selected(runs, rule="third", rejudge=True)
    more = _selected(runs, rule="third", rejudge=True, rate=0.6)
    assert some < more
    assert len(_selected(runs, rule="third", rejudge=True, rate=1.0)) == 40


def test_the_kinds_and_the_condition_of_the_rule_hold_for_history(runs: Runs) -> None:
    finish_failed(runs.store)
    assert _selected(runs, rule="errors", rejudge=True) == {trace_id(99)}
    assert _selected(runs, rule="tools", rejudge=True) == set()


def finish_failed(store: Bench) -> None:
    store.spans(root(99, status="error"))
    store.after(4)


@pytest.mark.parametrize(
    ("targets", "found"),
    [
        (TargetFilter(where="first_seq <= 2"), 3),
        (TargetFilter(where="has_error"), 0),
        (TargetFilter(trace_ids=(trace_id(7), trace_id(9), trace_id(7))), 2),
    ],
)
def test_a_run_looks_at_what_it_is_asked_to(runs: Runs, targets: TargetFilter, found: int) -> None:
    first = runs.store.rows("SELECT min(first_seq) FROM base.traces")[0][0]
    targets = TargetFilter(
        where=targets.where.replace("<= 2", f"<= {first + 2}"), trace_ids=targets.trace_ids
    )
    assert len(_selected(runs, evaluators=("defined-tools",), targets=targets)) == found


def test_times_bound_the_start_of_traces(runs: Runs) -> None:
    run_id = runs.start(evaluators=("defined-tools",), targets=TargetFilter(until_ns=1))
    runs.decide()
    shown = runs.show(run_id)
    assert (shown.run.targets, shown.run.state, shown.share) == (0, "done", 1.0)


def test_traces_that_finish_later_are_not_of_the_run(runs: Runs) -> None:
    run_id = runs.start(evaluators=("defined-tools",))
    finish(runs.store, range(50, 53))
    runs.decide()
    assert len(runs.outcomes(run_id)) == 40


def test_a_start_in_the_middle_goes_on_where_the_run_stood(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "PAGE", 7)
    runs.open()
    run_id = runs.start(evaluators=("defined-tools", "no-tool-errors"))
    for judged in (14, 28):
        runs.driver.step()
        assert len(runs.outcomes(run_id)) == judged // 2
        runs.restart()
    runs.decide()
    runs.store.judge(PASS)
    runs.decide()
    assert runs.show(run_id).run.state == "done"
    assert len(runs.store.rows(PAIRS.format(run_id))) == 80
    assert len(set(runs.store.rows(PAIRS.format(run_id)))) == 80


def test_few_jobs_of_a_run_wait_at_a_time(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driving, "MOST_JOBS", 20)
    monkeypatch.setattr(driving, "PAGE", 10)
    run_id = runs.start(evaluators=("defined-tools",))
    runs.decide()
    waiting = "SELECT count(*) FROM base.jobs WHERE run_id <> ''"
    assert runs.store.rows(waiting) == [(20,)]
    assert runs.show(run_id).run.state == "running"
    assert 0 <= runs.show(run_id).share < 0.6
    runs.store.judge(PASS)
    runs.decide()
    assert runs.store.rows(waiting) == [(20,)]


def test_a_canceled_run_leaves_nothing_to_do(runs: Runs) -> None:
    run_id = runs.start(evaluators=("defined-tools",))
    runs.decide()
    runs.desk.cancel(run_id)
    runs.decide()
    shown = runs.show(run_id)
    assert (shown.run.state, shown.run.finished_at_ns is not None) == ("canceled", True)
    assert runs.store.rows("SELECT count(*) FROM base.jobs WHERE run_id <> ''") == [(0,)]
    assert runs.desk.cancel(run_id).run == shown.run


def test_a_canceled_run_decides_nothing_more(runs: Runs) -> None:
    run_id = runs.start(evaluators=("defined-tools",))
    before = find_run(runs.store.db, run_id)
    assert before is not None
    runs.desk.cancel(run_id)
    assert _write_page(runs, run_id) == "ended"
    assert runs.outcomes(run_id) == {}


def test_a_page_with_a_newer_revision_is_read_again(runs: Runs) -> None:
    run_id = runs.start(evaluators=("defined-tools",))
    page = _page(runs, run_id)
    runs.store.spans(child(5, 2))
    runs.store.after(4)
    assert _write_page(runs, run_id, page) == "stale"
    assert runs.outcomes(run_id) == {}
    runs.decide()
    revisions = "SELECT revision FROM base.decisions WHERE run_id = '{}' AND target_id = '{}'"
    assert runs.store.rows(revisions.format(run_id, trace_id(5))) == [(2,)]


def test_only_a_changed_evaluator_judges_again(tmp_path: Path) -> None:
    def settings(least: int) -> dict[str, Any]:
        words = {"type": "word-count", "config": {"min_words": least}}
        evaluators = ["non-empty-output", "words"]
        return {"evaluators": {"words": words}, "rules": {"r": {"evaluators": evaluators}}}

    with bench(tmp_path, settings(1)) as store:
        finish(store, range(1, 4))
        store.judge(PASS)
    with bench(tmp_path, settings(2)) as store:
        runs = Runs(store)
        run_id = runs.start(rule="r")
        runs.decide()
        assert runs.show(run_id).counts.selected == {"words": 3}
        assert runs.show(run_id).counts.left_out == {"non-empty-output": 3}


def test_a_candidate_is_known_after_a_restart(runs: Runs) -> None:
    words = EvaluatorSpec(type="word-count", config={"max_words": 9})
    run_id = runs.start(shadow=("no-loops", words))
    runs.decide()
    runs.restart()
    plan = plan_of(runs.show(run_id).run.plan)
    assert [e.name for e in plan.evaluators] == ["no-loops", "no-loops@candidate"]
    seat = runs.store.definitions.seat_of(plan.evaluators[1].fingerprint)
    assert seat is not None
    assert seat.config["max_words"] == 9
    runs.store.judge(PASS)
    runs.decide()
    compared = runs.desk.comparison(runs.show(run_id))
    assert compared is not None
    assert (compared.agreement.n, compared.changed) == (40, [])


def test_what_broke_is_judged_again(runs: Runs) -> None:
    runs.store.judge(Failure(error_type="timeout", message="late"))
    assert len(_selected(runs, evaluators=("no-loops",))) == 40
    assert runs.store.rows("SELECT count(*) FROM base.jobs") == [(40,)]


def test_what_could_not_be_judged_is_not_asked_again(runs: Runs) -> None:
    runs.store.judge(Skip("nothing to look at"))
    run_id = runs.decided(evaluators=("no-loops",))
    assert runs.show(run_id).counts.judged == 40


def test_what_a_budget_refused_is_asked_again(runs: Runs) -> None:
    runs.store.judge(Skip("the budget of all rules is used up", {"refused": "budget"}))
    run_id = runs.decided(evaluators=("no-loops",))
    assert (runs.show(run_id).counts.judged, runs.show(run_id).to_judge) == (0, 40)


def test_an_estimate_decides_like_a_run_and_writes_nothing(runs: Runs) -> None:
    runs.store.judge(PASS)
    _, found = runs.desk.estimate(RunRequest(rule="third", rate=1.0))
    assert (found.total, found.is_complete) == (40, True)
    (evaluator,) = found.evaluators
    assert (evaluator.to_judge, evaluator.judged_already) == (0, 40)
    assert found.usd == 0.0
    assert runs.store.rows("SELECT count(*) FROM base.runs") == [(0,)]
    assert runs.store.rows("SELECT count(*) FROM base.decisions WHERE run_id <> ''") == [(0,)]


@pytest.mark.parametrize(
    ("spent", "usd", "tokens"),
    [
        (Spent(usd=0.01, input_tokens=100, output_tokens=20), 0.4, 4000),
        (Spent(usd=None, input_tokens=100, output_tokens=20), None, 4000),
        (None, None, None),
    ],
)
def test_cost_is_estimated_from_former_judgements(
    tmp_path: Path, spent: Spent | None, usd: float | None, tokens: int | None
) -> None:
    judge = {"type": "webhook", "config": {"url": "http://127.0.0.1:9/"}}
    settings = {"evaluators": {"asked": judge}, "rules": {"r": {"evaluators": ["asked"]}}}
    with bench(tmp_path, settings) as store:
        finish(store, range(1, 41))
        runs = Runs(store)
        before = runs.desk.estimate(RunRequest(rule="r", rejudge=True))[1]
        assert (before.usd, before.evaluators[0].basis) == (None, "unknown")
        store.judge(Score(value=1.0, verdict="pass", spent=spent))
        found = runs.desk.estimate(RunRequest(rule="r", rejudge=True))[1]
        assert found.usd == (pytest.approx(usd) if usd else None)
        assert found.evaluators[0].input_tokens == tokens
        assert (found.evaluators[0].basis, found.evaluators[0].samples) == ("same_version", 40)


def test_two_writers_of_one_run_decide_once(runs: Runs) -> None:
    run_id = runs.start(evaluators=("defined-tools",))
    run, page = runs.show(run_id).run, _page(runs, run_id)
    assert _write_page(runs, run_id, page, run) == "written"
    assert _write_page(runs, run_id, page, run) == "ended"
    twice = "SELECT count(*), count(DISTINCT decision_id) FROM base.decisions WHERE run_id <> ''"
    assert runs.store.rows(twice) == [(40, 40)]
    assert runs.store.rows("SELECT count(*) FROM base.jobs WHERE run_id <> ''") == [(40,)]


def _selected(runs: Runs, **request: Any) -> set[str]:
    found = runs.outcomes(runs.decided(**request))
    return {target for target, outcome in found.items() if outcome == "selected"}


def _page(runs: Runs, run_id: str) -> Any:
    plan = plan_of(runs.show(run_id).run.plan)
    with runs.store.db.read() as cursor:
        return next_targets(cursor, plan.targets, NO_SEQ, 100)


def _write_page(runs: Runs, run_id: str, page: Any = None, run: StoredRun | None = None) -> str:
    run = run or runs.show(run_id).run
    rule = plan_of(run.plan).rule
    targets = page or _page(runs, run_id)
    with conditions_of(rule) as conditions:
        decided = decide_targets(rule, run_id, conditions, targets, {})
    ledger = Ledger()
    for item in decided:
        ledger.add(item.decision, runs.store.clock())
    return runs.store.db.write(StepWrite(run, targets, ledger, 0, run.counts, 0)).result()


def test_pages_are_found_however_far_apart_traces_begin() -> None:
    begins = [5, 9, 4000, 4001, 90_000_000]
    looks = []

    def read(low_seq: int) -> list[int]:
        looks.append(low_seq)
        return [seq for seq in reversed(begins) if low_seq <= seq < before][:2]

    pages, before = [], 100_000_000
    while page := widening(read, before, 2):
        pages.append(page)
        before = page[-1]
    assert pages == [[90_000_000, 4001], [4000, 9], [5]]
    assert len(looks) < 25
