"""Runs that may not begin, must wait, or cannot go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.helpers.runs import Runs, finish, runs_over_forty
from tests.helpers.worker import bench, trace_id
from tracejury_collector.errors import (
    InvalidRequest,
    NotFound,
    SqlRefused,
    SqlTooLarge,
    TooManyRuns,
)
from tracejury_collector.runs import driver as driving
from tracejury_collector.runs.desk import MOST_RUNS
from tracejury_collector.runs.paging import Page, next_page
from tracejury_collector.runs.plan import Plan, RunRequest
from tracejury_collector.store.reads import execute_where
from tracejury_collector.store.targets import TargetFilter


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    with runs_over_forty(tmp_path) as opened:
        yield opened


def test_a_run_that_costs_waits_for_its_budget(tmp_path: Path) -> None:
    judge = {"type": "webhook", "config": {"url": "http://127.0.0.1:9/"}}
    settings = {"evaluators": {"asked": judge}, "rules": {"r": {"evaluators": ["asked"]}}}
    with bench(tmp_path, settings) as store:
        finish(store, range(1, 4))
        runs = Runs(store)
        runs.refusal = "the budget is used up"
        free = runs.start(evaluators=("no-loops",))
        costly = runs.start(rule="r", rejudge=True)
        runs.decide()
        assert (runs.show(free).to_judge, runs.show(costly).to_judge) == (3, 0)
        assert runs.show(costly).waiting == "the budget is used up"
        runs.refusal = ""
        runs.decide()
        assert (runs.show(costly).to_judge, runs.show(costly).waiting) == (3, "")


@pytest.mark.parametrize(
    ("request_", "error", "said"),
    [
        (RunRequest(), InvalidRequest, "needs one of them"),
        (RunRequest(rule="default", evaluators=("no-loops",)), InvalidRequest, "needs one"),
        (RunRequest(rule="defualt"), NotFound, "'default'"),
        (RunRequest(evaluators=("no-loop",)), NotFound, "'no-loops'"),
        (RunRequest(rule="default", targets=TargetFilter(where="nope")), SqlRefused, "where"),
        (
            RunRequest(rule="default", targets=TargetFilter(where="(SELECT true)")),
            SqlRefused,
            "where",
        ),
        (
            RunRequest(rule="default", targets=TargetFilter(trace_ids=("ab",))),
            NotFound,
            "no finished trace is 'ab'",
        ),
        (
            RunRequest(rule="default", targets=TargetFilter(trace_ids=(trace_id(1),), since_ns=1)),
            InvalidRequest,
            "ids alone",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(
    runs: Runs, request_: RunRequest, error: type[Exception], said: str
) -> None:
    for ask in (runs.desk.start, runs.desk.estimate):
        with pytest.raises(error, match=said):
            ask(request_)
    assert runs.store.rows("SELECT count(*) FROM base.runs") == [(0,)]


def test_a_condition_that_fails_on_a_trace_ends_the_run_with_the_reason(runs: Runs) -> None:
    ((oldest,),) = runs.store.rows("SELECT min(first_seq) FROM base.traces")
    fails = f"first_seq <> {oldest} OR CAST(trace_id || 'x' AS INTEGER) > 0"
    run_id = runs.decided(rule="default", where=fails)
    shown = runs.show(run_id).run
    assert shown.state == "failed"
    assert "where: " in shown.error
    assert runs.outcomes(run_id) == {}


def test_a_condition_too_large_for_a_page_is_asked_of_smaller_ones(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _short_of_memory(monkeypatch, at=8)
    run_id = runs.decided(evaluators=("defined-tools",), where="NOT has_error")
    assert len(runs.outcomes(run_id)) == 40
    assert max(asked) > 8
    _, found = runs.desk.estimate(
        RunRequest(evaluators=("defined-tools",), targets=TargetFilter(where="NOT has_error"))
    )
    assert (found.counts.examined, found.is_complete) == (40, True)


def test_a_condition_too_large_for_one_trace_ends_the_run(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = runs.start(evaluators=("defined-tools",), where="NOT has_error")
    _short_of_memory(monkeypatch, at=0)
    monkeypatch.setattr(runs.store.db, "grow", lambda _: False)
    runs.decide()
    shown = runs.show(run_id).run
    assert (shown.state, "raise database.memory" in shown.error) == ("failed", True)


def _short_of_memory(monkeypatch: pytest.MonkeyPatch, at: int) -> list[int]:
    """Let conditions need too much memory on more traces than this; return how many were asked."""
    asked: list[int] = []

    def short(cursor: Any, sql: str, params: dict[str, Any], condition: str) -> Any:
        asked.append(len(json.loads(params["first_seqs"])))
        if asked[-1] > at:
            raise SqlTooLarge("where: raise database.memory") from duckdb.OutOfMemoryException("x")
        return execute_where(cursor, sql, params, condition)

    monkeypatch.setattr("tracejury_collector.store.targets.execute_where", short)
    return asked


def test_a_run_that_cannot_go_on_now_holds_up_no_other(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, good = runs.start(rule="default"), runs.start(evaluators=("defined-tools",))

    def read(cursor: Any, plan: Plan, *rest: Any, **options: Any) -> Page:
        if plan.rule.name == "default":
            raise duckdb.InvalidInputException("this cannot be read")
        return next_page(cursor, plan, *rest, **options)

    monkeypatch.setattr(driving, "next_page", read)
    for _ in range(driving.MAX_FAILURES):
        with pytest.raises(duckdb.InvalidInputException):
            runs.driver.step()
    assert len(runs.outcomes(good)) == 40
    assert runs.show(broken).run.state == "running"
    runs.driver.step()
    assert (runs.show(broken).run.state, runs.show(good).run.state) == ("failed", "running")


def test_runs_are_bounded_in_number(runs: Runs) -> None:
    for _ in range(MOST_RUNS):
        runs.start(rule="default")
    with pytest.raises(TooManyRuns, match="cancel"):
        runs.start(rule="default")


def test_an_unknown_run_is_not_found(runs: Runs) -> None:
    for ask in (runs.desk.show, runs.desk.cancel):
        with pytest.raises(NotFound, match="run-1"):
            ask("run-1")
