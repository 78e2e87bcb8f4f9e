"""Jury processes may die at any moment; every pair is judged once all the same.

`TRACEJURY_JURY_KILLS` sets how many are killed.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.hostile import registry
from tests.helpers.jury import room, wait_until
from tests.helpers.worker import Bench, bench, child, root
from tests.promises.accounting import assert_balanced, counted
from tracejury_collector.jury.lines import LOW_JOBS
from tracejury_collector.jury.pool import PAGE_JOBS

KILLS = int(os.environ.get("TRACEJURY_JURY_KILLS", "6"))
KILLS_OF_A_ROOM = 40
TRACES_A_KILL = 150
EVALUATORS = ["non-empty-output", "no-loops", "no-tool-errors"]
SETTINGS: dict[str, Any] = {"rules": {"default": {"evaluators": EVALUATORS}}}
PAIRS = "SELECT count(*), count(DISTINCT (decision_id, evaluator)) FROM base.results"


def select(store: Bench, traces: int, begin: int = 1) -> None:
    for first in range(begin, begin + traces, 500):
        last = min(first + 500, begin + traces)
        store.spans(*[root(n) for n in range(first, last)])
    store.clock.advance(4)
    while store.worker.tick():
        pass


@pytest.mark.timeout(120 + 3 * KILLS)
def test_killed_processes_lose_and_repeat_nothing(tmp_path: Path) -> None:
    with bench(tmp_path, SETTINGS, registry()) as store:
        for first in range(0, KILLS, KILLS_OF_A_ROOM):
            kills = min(KILLS_OF_A_ROOM, KILLS - first)
            select(store, kills * TRACES_A_KILL, begin=first * TRACES_A_KILL + 1)
            with room(store, tmp_path, processes=2) as jury:
                for _ in range(kills):
                    wait_until(lambda: store.jury.stats.workers > 0)
                    time.sleep(0.05)
                    wait_until(jury.kill_one)
                jury.until_judged()
            store.restart()
        pairs = KILLS * TRACES_A_KILL * len(EVALUATORS)
        assert store.rows(PAIRS) == [(pairs, pairs)]
        assert store.rows("SELECT count(*) FROM base.results WHERE outcome = 'failure'") == [(0,)]
        assert_balanced(counted(store.db))


def test_a_store_that_starts_again_finds_what_is_left(tmp_path: Path) -> None:
    traces = 400
    with bench(tmp_path, SETTINGS, registry()) as store:
        select(store, traces)
        with room(store, tmp_path):
            wait_until(lambda: bool(store.rows("FROM base.results LIMIT 1")))
        store.restart()
        with room(store, tmp_path) as jury:
            jury.until_judged()
        assert store.rows(PAIRS) == [(traces * 3, traces * 3)]


@pytest.mark.slow
def test_a_backlog_waits_in_the_database(tmp_path: Path) -> None:
    traces = PAGE_JOBS + LOW_JOBS + 500
    with bench(tmp_path, SETTINGS, registry()) as store:
        select(store, traces)
        with room(store, tmp_path, processes=0):
            wait_until(lambda: store.jury.stats.queued > 0)
            time.sleep(0.3)
            assert store.jury.stats.queued == PAGE_JOBS
        store.restart()
        with room(store, tmp_path) as jury:
            jury.until_judged()
        assert store.rows(PAIRS) == [(traces * 3, traces * 3)]


def test_live_traces_are_judged_as_they_are_finished(tmp_path: Path) -> None:
    with bench(tmp_path, SETTINGS, registry()) as store, room(store, tmp_path) as jury:
        for number in range(1, 6):
            store.spans(root(number), child(number))
            store.after(4)
            wait_until(lambda n=number: store.rows(PAIRS) == [(n * 3, n * 3)])  # type: ignore[misc]
        jury.until_judged()
