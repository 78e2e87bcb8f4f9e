"""Explain tells the whole story of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.worker import Bench, bench, child, root, trace_id
from tracejury.result import Failure, Score
from tracejury_collector.errors import NotFound

RULES = {
    "every": {"evaluators": ["no-loops"]},
    "slow": {"where": "latency_ms > 5000", "evaluators": ["no-loops"]},
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path, {"rules": RULES}) as built:
        yield built


def lines(store: Bench) -> list[str]:
    found: list[str] = store.worker.explain(trace_id(1))["lines"]
    return found


def test_an_unknown_trace_is_not_found(store: Bench) -> None:
    with pytest.raises(NotFound, match=trace_id(1)):
        store.worker.explain(trace_id(1))


def test_a_trace_that_is_not_finished_says_what_it_waits_for(store: Bench) -> None:
    store.spans(root(end_time_unix_nano=0, end_time=None), child())
    store.clock.advance(4)
    assert lines(store) == [
        "not finished yet: root still open, 2 spans, last 4 s ago; finished in 116 s without news"
    ]
    story = store.worker.explain(trace_id(1))
    assert story["status"] == "open"
    assert story["completion"]["due_ns"] > store.clock()


def test_a_judged_trace_says_what_each_rule_decided(store: Bench) -> None:
    store.spans(root())
    store.after(4)
    assert lines(store)[-1] == "rule 'slow' on revision 1: filtered, the condition " + (
        "'latency_ms > 5000' does not hold"
    )
    assert "  no-loops: waits for the jury" in lines(store)
    store.judge(Score(0.5, verdict="partial", reason="one loop"))
    assert lines(store) == [
        "revision 1: finished because its root ended and it fell quiet, 1 span",
        "rule 'every' on revision 1: selected, every trace that passes is judged",
        "  no-loops: partial 0.5, one loop",
        "rule 'slow' on revision 1: filtered, the condition 'latency_ms > 5000' does not hold",
    ]


def test_a_reopened_trace_tells_of_both_revisions(store: Bench) -> None:
    store.spans(root())
    store.after(4)
    store.judge(Failure("timeout", "ran too long"))
    store.spans(child())
    store.clock.advance(1)
    assert lines(store)[0].startswith("not finished yet: reopened by late arrivals, 1 span")
    store.after(3)
    assert lines(store)[:2] == [
        "revision 2: finished because its root ended and it fell quiet, 2 spans",
        "revision 1 (superseded): finished because its root ended and it fell quiet, 1 span",
    ]
    assert "  no-loops (superseded): failed with timeout, ran too long" in lines(store)
