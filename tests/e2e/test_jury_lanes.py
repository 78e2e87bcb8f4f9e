"""Evaluators that compute never wait for those that wait for others; these run side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.helpers.hostile import registry
from tests.helpers.jury import room, wait_until
from tests.helpers.worker import Bench, bench, root, trace_id

QUICK = ["non-empty-output", "no-loops"]
PAIRS = "SELECT count(*), count(DISTINCT (decision_id, evaluator)) FROM base.results"


def settings(judge: dict[str, Any], concurrency: int) -> dict[str, Any]:
    return {
        "judge": {"concurrency": concurrency},
        "evaluators": {"judge": judge},
        "rules": {"default": {"evaluators": ["judge", *QUICK]}},
    }


def select(store: Bench, *numbers: int) -> None:
    store.spans(*[root(n) for n in numbers])
    store.clock.advance(4)
    while store.worker.tick():
        pass


def judged(store: Bench, evaluators: str) -> int:
    ((count,),) = store.rows(f"SELECT count(*) FROM base.results WHERE evaluator {evaluators}")
    return int(count)


def test_what_computes_is_judged_while_others_wait(tmp_path: Path) -> None:
    traces, side_by_side = 24, 6
    gate = tmp_path / "gate"
    given = settings({"type": "waits-for-a-file", "config": {"path": str(gate)}}, side_by_side)
    with bench(tmp_path, given, registry()) as store:
        select(store, *range(1, traces + 1))
        with room(store, tmp_path, judges=1) as jury:
            wait_until(lambda: judged(store, "<> 'judge'") == traces * 2)
            wait_until(lambda: store.jury.stats.in_flight == side_by_side)
            assert judged(store, "= 'judge'") == 0
            assert store.jury.stats.lanes == {
                "quick": 0,
                "waiting": traces - side_by_side,
                "query": 0,
            }
            gate.touch()
            jury.until_judged()
        assert store.rows(PAIRS) == [(traces * 3, traces * 3)]
        assert store.rows("SELECT max(n) FROM base.attempts") == [(1,)]


def test_one_that_takes_too_long_ends_alone(tmp_path: Path) -> None:
    judge = {"type": "awaits-in-vain", "timeout": "500ms"}
    with bench(tmp_path, settings(judge, 4), registry()) as store:
        select(store, *range(12, 20))
        with room(store, tmp_path, judges=1) as jury:
            jury.until_judged()
            assert jury.ended == 0
        failed = "SELECT trace_id, error_type FROM base.results WHERE outcome = 'failure'"
        assert store.rows(failed) == [(trace_id(15), "timeout")]
        assert judged(store, "= 'judge'") == 8


def test_neighbors_of_one_that_kills_the_process_are_judged(tmp_path: Path) -> None:
    with bench(tmp_path, settings({"type": "exits-while-others-wait"}, 4), registry()) as store:
        select(store, *range(12, 20))
        with room(store, tmp_path, judges=1) as jury:
            jury.until_judged()
        failed = "SELECT trace_id, error_type FROM base.results WHERE outcome = 'failure'"
        assert store.rows(failed) == [(trace_id(15), "abandoned")]
        assert store.rows(PAIRS) == [(24, 24)]
