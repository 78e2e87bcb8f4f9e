"""Late spans without end: every one is in a revision, and judging them comes to an end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.worker import bench, child, root, trace_id
from tracejury.result import Score

REVISIONS = "SELECT revision, span_count FROM base.traces ORDER BY revision"
CURRENT = "SELECT revision FROM base.results WHERE NOT superseded"


@pytest.mark.slow
def test_a_flood_of_late_spans_is_seen_and_not_judged_without_end(tmp_path: Path) -> None:
    settings = {"completion": {"max_revisions": 3}}
    with bench(tmp_path, settings) as store:
        store.spans(root())
        store.after(4)
        for number in range(2, 400):
            store.spans(child(number=number))
            store.after(5)
            store.judge(Score(1.0))
        for _ in range(40):
            store.after(100)
        revisions = store.rows(REVISIONS)
        assert len(revisions) <= 12
        assert revisions[-1][1] == 399
        assert store.rows("FROM base.open_traces") == []
        outcomes = store.rows(
            "SELECT revision, min(outcome), max(outcome) FROM base.decisions GROUP BY ALL"
        )
        expected = {n: "selected" if n <= 3 else "revision_limit" for n, _ in revisions}
        assert {n: first for n, first, _ in outcomes} == expected
        assert all(first == last for _, first, last in outcomes)
        assert store.rows(CURRENT) == []


def test_traces_that_are_held_do_not_keep_others_waiting(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        for number in (2, 3, 4):
            store.spans(*[root(n) for n in range(1, 251) if number == 2])
            store.spans(*[child(n, number) for n in range(1, 251)])
            store.clock.advance(4)
            while store.worker.tick():
                pass
        store.spans(*[child(n, 5, marker=True) for n in range(1, 251)])
        store.spans(root(1000))
        assert store.after(3.5) == 1
        assert store.rows(f"SELECT revision FROM base.traces WHERE trace_id = '{trace_id(1000)}'")
        assert store.after(3) == 200


def test_a_restart_keeps_holding_what_was_reopened_often(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        for number in (2, 3, 4):
            store.spans(root(), child(number=number))
            store.after(4)
        store.spans(child(number=5))
        store.restart()
        assert store.after(4) == 0
        assert store.after(2.1) == 1
        assert store.rows(REVISIONS)[-1] == (4, 5)
