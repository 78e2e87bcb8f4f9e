"""Explain tells the whole story of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.worker import Bench, bench, child, root, trace_id
from tracejury.result import Failure, Score
from tracejury_collector.config import EvaluatorSpec, RuleSpec, parse_config
from tracejury_collector.errors import NotFound
from tracejury_collector.sampling import is_sampled

RULES: dict[str, dict[str, Any]] = {
    "every": {"evaluators": ["no-loops"]},
    "slow": {"where": "latency_ms > 5000", "evaluators": ["no-loops"]},
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path, {"rules": RULES}) as built:
        yield built


def lines(store: Bench) -> list[str]:
    found: list[str] = store.stories.of_trace(trace_id(1))["lines"]
    return found


def test_an_unknown_trace_is_not_found(store: Bench) -> None:
    with pytest.raises(NotFound, match=trace_id(1)):
        store.stories.of_trace(trace_id(1))


def test_a_trace_that_is_not_finished_says_what_it_waits_for(store: Bench) -> None:
    store.spans(root(end_time_unix_nano=0, end_time=None), child())
    store.clock.advance(4)
    assert lines(store) == [
        "not finished yet: root still open, 2 spans, last 4 s ago; finished in 116 s without news"
    ]
    story = store.stories.of_trace(trace_id(1))
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


def test_a_job_that_a_later_revision_took_the_place_of_does_not_wait(store: Bench) -> None:
    store.spans(root())
    store.after(4)
    store.spans(child())
    store.after(4)
    found = lines(store)
    waits = found.index("  no-loops: waits for the jury")
    assert "revision 2" in found[waits - 1]
    gone = found.index("  no-loops: not judged, a later revision took its place")
    assert "revision 1" in found[gone - 1]


def test_a_sampled_trace_says_what_it_counts_for(tmp_path: Path) -> None:
    sample = {"rate": 0.0, "strata": {"half": {"where": "true", "rate": 0.5}}}
    with bench(tmp_path, {"rules": {"r": {"sample": sample, "evaluators": ["no-loops"]}}}) as store:
        taken = next(n for n in range(1, 99) if is_sampled(trace_id(n), "r", 0.5))
        store.spans(root(taken, trace_state="ot=th:c"))
        store.after(4)
        assert store.stories.of_trace(trace_id(taken))["lines"][1:] == [
            "rule 'r' on revision 1: selected, in the sample of 50 % of stratum 'half'",
            "  counts for 8: drawn from 50 %, after 25 % were kept upstream",
            "  no-loops: waits for the jury",
        ]
        (decision,) = store.stories.of_trace(trace_id(taken))["decisions"]
        assert decision["stratum"] == "half"
        assert (decision["sampled_by"], decision["upstream_probability"]) == ("trace", 0.25)


def test_rules_that_came_or_changed_later_say_so(tmp_path: Path) -> None:
    with bench(tmp_path, {"rules": {"every": RULES["every"]}}) as store:
        store.spans(root())
        store.after(4)
        changed = {"every": {**RULES["every"], "where": "NOT has_error"}, "new": RULES["slow"]}
        store.config = parse_config({"rules": changed})
        store.restart()
        assert lines(store)[1:] == [
            "rule 'every' on revision 1: selected, every trace that passes is judged",
            "  the rule has changed since",
            "  no-loops: waits for the jury",
            "rule 'new': not in force when revision 1 was finished; "
            "a run judges it (tracejury evaluate --rule new)",
        ]


def test_without_any_rule_it_says_that_there_was_none(tmp_path: Path) -> None:
    with bench(tmp_path, {"rules": {}}) as store:
        store.spans(root())
        store.after(4)
        assert lines(store)[1:] == ["no rule was in force when it was finished"]


def test_a_result_of_a_former_version_says_so_before_and_after_it_is_judged(store: Bench) -> None:
    slow = {"type": "latency-budget", "config": {"budget_ms": 9000}}
    strict = {**slow, "config": {"budget_ms": 1}}
    store.definitions.put("speed", EvaluatorSpec.model_validate(slow))
    store.definitions.put("all", RuleSpec(evaluators=["speed", "no-loops"]))
    store.spans(root())
    store.after(4)
    assert "  speed: waits for the jury" in lines(store)
    store.definitions.put("speed", EvaluatorSpec.model_validate(strict))
    assert "  speed (by a former version): waits for the jury" in lines(store)
    store.judge(Score(1.0, verdict="pass", reason="in time"))
    assert "  speed (by a former version): pass 1, in time" in lines(store)
    assert "  no-loops: pass 1, in time" in lines(store)
    store.definitions.put("speed", EvaluatorSpec.model_validate(slow))
    assert "  speed: pass 1, in time" in lines(store)
    store.definitions.delete("rule", "all")
    store.definitions.delete("evaluator", "speed")
    assert "  speed (since removed): pass 1, in time" in lines(store)
    decisions = store.stories.of_trace(trace_id(1))["decisions"]
    versions = {e["evaluator"]: e["version"] for d in decisions for e in d["evaluators"]}
    assert versions == {"speed": "removed", "no-loops": "current"}
    store.spans(child())
    store.after(4)
    assert "  speed (since removed, superseded): pass 1, in time" in lines(store)
