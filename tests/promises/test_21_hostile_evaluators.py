"""No evaluator harms anybody but itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.helpers.hostile import registry
from tests.helpers.jury import room, wait_until
from tests.helpers.worker import Bench, bench, root

NEIGHBORS = ["non-empty-output", "no-loops"]
TRACES = 20
SETTINGS: dict[str, Any] = {"timeout": "10s", "memory": "1GiB"}
SHORT = "500ms"  # for the hostile alone: a busy machine takes longer over a neighbor


def settings(*hostile: str) -> dict[str, Any]:
    return {
        "jury": SETTINGS,
        "evaluators": {name: {"type": name, "timeout": SHORT} for name in hostile},
        "rules": {"default": {"evaluators": [*hostile, *NEIGHBORS]}},
    }


def select(store: Bench, traces: int = TRACES) -> None:
    """Let every trace be selected; the poisonous one is number 15"""
    store.spans(*[root(n) for n in range(1, traces + 1)])
    store.clock.advance(4)
    while store.worker.tick():
        pass


def outcomes(store: Bench, name: str, *, poisonous: bool) -> list[tuple[Any, ...]]:
    likeness = "" if poisonous else "NOT"
    return store.rows(
        "SELECT DISTINCT outcome, error_type FROM base.results "
        f"WHERE evaluator = '{name}' AND trace_id {likeness} LIKE '%f' ORDER BY ALL"
    )


def assert_neighbors_were_judged(store: Bench, hostile: str) -> None:
    """Every pair has one result, and only the poisonous ones are no scores."""
    pairs = "SELECT count(*), count(DISTINCT (decision_id, evaluator)) FROM base.results"
    expected = TRACES * (1 + len(NEIGHBORS))
    assert store.rows(pairs) == [(expected, expected)]
    assert outcomes(store, hostile, poisonous=False) == [("score", None)]
    for name in NEIGHBORS:
        assert store.rows(
            f"SELECT count(*) FROM base.results WHERE evaluator = '{name}' AND outcome <> 'failure'"
        ) == [(TRACES,)]


@pytest.mark.parametrize(
    ("hostile", "expected"),
    [
        ("loops", ("failure", "timeout")),
        ("holds-the-interpreter", ("failure", "timeout")),
        ("leaves-children", ("failure", "timeout")),
        ("exits", ("failure", "abandoned")),
        ("kills-itself", ("failure", "abandoned")),
        ("raises-system-exit", ("failure", "SystemExit")),
        ("raises-base-exception", ("failure", "BaseException")),
        ("hogs-memory", ("failure", "MemoryError")),
        ("leaks-memory", ("failure", "MemoryError")),
        ("sleeps-under-the-lock", ("failure", "timeout")),
        ("kills-its-group", ("failure", "abandoned")),
        ("raises-keyboard-interrupt", ("failure", "KeyboardInterrupt")),
        ("returns-nan", ("failure", "ValueError")),
        ("leaves-threads", ("score", None)),
        ("changes-the-process", ("score", None)),
        ("shouts", ("score", None)),
        ("asks-to-stop", ("score", None)),
    ],
)
def test_a_hostile_evaluator_harms_only_itself(
    tmp_path: Path, hostile: str, expected: tuple[str, str | None]
) -> None:
    with bench(tmp_path, settings(hostile), registry()) as store:
        select(store)
        with room(store, tmp_path) as jury:
            jury.until_judged()
            pids = jury.pids
        assert_neighbors_were_judged(store, hostile)
        assert outcomes(store, hostile, poisonous=True) == [expected]
        assert not [p for p in psutil.process_iter() if p.pid in pids]


def test_each_evaluator_has_its_own_time(tmp_path: Path) -> None:
    slow = {"type": "takes-its-time", "timeout": "30s", "config": {"duration_s": 1.0}}
    slower = {"type": "takes-its-time", "timeout": "600ms", "config": {"duration_s": 20.0}}
    given = settings()
    given["evaluators"] = {"slow": slow, "slower": slower}
    given["rules"]["default"]["evaluators"] = ["slow", "slower"]
    with bench(tmp_path, given, registry()) as store:
        select(store, 15)
        with room(store, tmp_path) as jury:
            jury.until_judged()
        assert outcomes(store, "slow", poisonous=True) == [("score", None)]
        assert outcomes(store, "slower", poisonous=True) == [("failure", "timeout")]
        messages = "SELECT error_message FROM base.results WHERE outcome = 'failure'"
        assert store.rows(messages) == [("ran longer than 0.6 s and was stopped",)]


@pytest.mark.parametrize(
    "hostile",
    [
        "exits-later",
        "says-too-much",
        pytest.param("closes-everything", marks=pytest.mark.slow),
    ],
)
def test_every_pair_is_answered_once_whatever_happens(tmp_path: Path, hostile: str) -> None:
    with bench(tmp_path, settings(hostile), registry()) as store:
        select(store)
        with room(store, tmp_path) as jury:
            jury.until_judged()
        pairs = "SELECT count(*), count(DISTINCT (decision_id, evaluator)) FROM base.results"
        expected = TRACES * (1 + len(NEIGHBORS))
        assert store.rows(pairs) == [(expected, expected)]


def test_a_guilty_pair_is_tried_three_times_its_neighbors_once(tmp_path: Path) -> None:
    with bench(tmp_path, settings("exits"), registry()) as store:
        select(store)
        with room(store, tmp_path) as jury:
            jury.until_judged()
        tries = (
            "SELECT evaluator, d.target_id LIKE '%f' AS poisonous, max(n), min(n), count(*) "
            "FROM base.attempts JOIN base.decisions AS d USING (decision_id) GROUP BY ALL "
            "ORDER BY ALL"
        )
        assert store.rows(tries) == [
            ("exits", False, 1, 1, TRACES - 1),
            ("exits", True, 3, 1, 3),
            ("no-loops", False, 1, 1, TRACES - 1),
            ("no-loops", True, 1, 1, 1),
            ("non-empty-output", False, 1, 1, TRACES - 1),
            ("non-empty-output", True, 1, 1, 1),
        ]


def test_stops_of_the_service_are_no_attempts(tmp_path: Path) -> None:
    slow = {"type": "takes-its-time", "timeout": "60s", "config": {"duration_s": 30.0}}
    given = settings()
    given["evaluators"] = {"slow": slow}
    given["rules"]["default"]["evaluators"] = ["slow", *NEIGHBORS]
    begun = "SELECT count(*) FROM base.attempts WHERE evaluator = 'slow'"
    with bench(tmp_path, given, registry()) as store:
        select(store, 15)
        for _ in range(4):  # one more than there are tries
            with room(store, tmp_path):
                wait_until(lambda: store.rows(begun) != [(0,)] and store.jury.stats.in_flight > 0)
            store.restart()
        assert store.rows("SELECT count(*) FROM base.results WHERE outcome = 'failure'") == [(0,)]


def test_what_an_evaluator_started_ends_with_it(tmp_path: Path) -> None:
    with bench(tmp_path, settings("leaves-children"), registry()) as store:
        select(store, 15)
        with room(store, tmp_path) as jury:
            wait_until(lambda: bool(_sleepers()))
            sleepers = _sleepers()
            jury.until_judged()
            wait_until(lambda: not sleepers & _sleepers())


def _sleepers() -> set[int]:
    found = set()
    for process in psutil.process_iter(["cmdline", "status"]):
        command = " ".join(process.info["cmdline"] or [])
        if "time.sleep(601)" in command and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.add(process.pid)
    return found
