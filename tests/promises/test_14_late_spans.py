"""A span that comes late makes a new revision, judged anew; none passes in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.worker import Bench, bench, child, root, trace_id
from tests.promises.accounting import assert_balanced, counted
from tracejury.result import Score

LATE_S = (1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600)


def finish(store: Bench) -> None:
    """Let everything become quiet, be finished and judged."""
    for _ in range(6):
        store.after(60)
    store.judge(Score(1.0))


@pytest.mark.parametrize("late_s", LATE_S)
def test_a_late_span_supersedes_what_was_found_without_it(tmp_path: Path, late_s: float) -> None:
    with bench(tmp_path) as store:
        store.spans(root())
        store.after(4)
        store.judge(Score(0.0))
        store.clock.advance(late_s)
        store.restart()
        store.spans(child(number=2))
        finish(store)
        revisions = "SELECT revision, span_count, superseded FROM base.traces ORDER BY revision"
        assert store.rows(revisions) == [(1, 1, True), (2, 2, False)]
        results = "SELECT revision, score, superseded FROM base.results ORDER BY ALL"
        assert set(store.rows(results)) == {(1, 0.0, True), (2, 1.0, False)}
        decided = "SELECT revision, count(*) FROM base.decisions GROUP BY ALL ORDER BY ALL"
        assert store.rows(decided) == [(1, 1), (2, 1)]
        assert_balanced(counted(store.db))


def test_every_one_of_many_late_spans_is_in_the_last_revision(tmp_path: Path) -> None:
    with bench(tmp_path) as store:
        traces = range(1, 41)
        store.spans(*[root(n) for n in traces])
        store.after(4)
        for wait, late_s in enumerate(LATE_S):
            store.clock.advance(late_s)
            store.spans(*[child(n, wait + 2) for n in traces if n % len(LATE_S) >= wait])
            finish(store)
        in_revisions = (
            "SELECT trace_id, span_count FROM base.traces WHERE NOT superseded ORDER BY ALL"
        )
        stored = "SELECT trace_id, count(*) FROM base.spans GROUP BY ALL ORDER BY ALL"
        assert store.rows(in_revisions) == store.rows(stored)
        assert store.rows("FROM base.arrivals") == []
        assert len(store.rows(stored)) == len(traces)
        assert store.rows(stored)[0][0] == trace_id(1)
