"""What live sampling promises: nested, independent of what sampled before, capped, unbiased."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, stdev
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace.sampling import Decision as UpstreamDecision
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

from tracejury_collector.config import parse_config
from tracejury_collector.rules import (
    Checks,
    Circumstances,
    ConditionResult,
    Decision,
    Former,
    Rule,
    Subject,
    choose,
    compile_rules,
)
from tracejury_collector.rules.pacing import MINUTE_NS, Pacer, overflow
from tracejury_collector.sampling import is_sampled

HOLDS = ConditionResult(holds=True)
FAILS = ConditionResult(holds=False)
KEPT = Checks(where=HOLDS, strata=(FAILS,))
ALWAYS = Checks(where=HOLDS, strata=(HOLDS,))
IDS = st.text("0123456789abcdef", min_size=32, max_size=32)
RATES = st.floats(0, 1)


def rule(name: str = "r", **sample: Any) -> Rule:
    spec = {"evaluators": ["e"], "sample": {"always": ["has_error"], **sample}}
    config = parse_config({"evaluators": {"e": {"type": "no-loops"}}, "rules": {name: spec}})
    return compile_rules(config, {"e": "f"})[0]


def subject(number: int, **fields: Any) -> Subject:
    return Subject(**{"target_id": f"{number:032x}", "revision": 1, "kind": "agent", **fields})


def decide(made: Rule, checks: Checks, at: Subject, pacer: Pacer, now_ns: int) -> Decision:
    """Decide and note, as the worker does for a batch of one."""
    selected = pacer.of(made.name, now_ns // MINUTE_NS).selected
    now = Circumstances(cap_factor=pacer.factor(made, now_ns), overload=overflow(made, selected))
    decision = choose(made, checks, at, now)
    pacer.note(decision, now_ns)
    return decision


@given(IDS, RATES, RATES, st.sampled_from(["trace", "session"]))
def test_what_a_rate_takes_every_higher_rate_takes(
    trace_id: str, one: float, other: float, by: str
) -> None:
    low, high = sorted((one, other))
    at = subject(0, target_id=trace_id, session_id=trace_id[:9])
    taken = [choose(rule(rate=rate, by=by), KEPT, at).outcome for rate in (low, high)]
    assert taken != ["selected", "sampled_out"]


@given(IDS, RATES, RATES, RATES)
def test_what_a_lowered_rate_takes_the_full_one_takes(
    trace_id: str, rate: float, factor: float, other: float
) -> None:
    low, high = sorted((factor, other))
    made, at = rule(rate=rate, per_minute=9), subject(0, target_id=trace_id)
    taken = [
        choose(made, KEPT, at, Circumstances(cap_factor=now)).outcome for now in (low, high, 1.0)
    ]
    assert taken == sorted(taken, key=["sampled_out", "selected"].index)


def kept_by_ratio(trace_id: int) -> bool:
    found = TraceIdRatioBased(0.05).should_sample(None, trace_id, "x")
    return found.decision is UpstreamDecision.RECORD_AND_SAMPLE


def kept_by_threshold(trace_id: int) -> bool:
    return trace_id % (1 << 56) >= int(0.95 * (1 << 56))


def kept_by_first_digits(trace_id: int) -> bool:
    return trace_id >> 64 < 0.05 * (1 << 64)


def kept_by_another_rule(trace_id: int) -> bool:
    return is_sampled(f"{trace_id:032x}", "another", 0.05)


@pytest.mark.parametrize(
    "is_kept", [kept_by_ratio, kept_by_threshold, kept_by_first_digits, kept_by_another_rule]
)
def test_what_sampled_before_does_not_bias_the_sample(is_kept: Callable[[int], bool]) -> None:
    numbers = random.Random(7)
    kept = [n for n in (numbers.getrandbits(128) for _ in range(60_000)) if is_kept(n)]
    assert 2500 < len(kept) < 3500
    for rate in (0.02, 0.1, 0.5):
        share = fmean(is_sampled(f"{n:032x}", "production", rate) for n in kept)
        assert abs(share - rate) < 4.5 * (rate * (1 - rate) / len(kept)) ** 0.5


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 5), st.integers(1, 3)), max_size=4),
    st.integers(1, 40),
    st.sampled_from([0.3, 1.0]),
)
def test_a_cap_holds_the_mean_of_each_burst_near_it(
    bursts: list[tuple[int, int, int]], cap: int, rate: float
) -> None:
    made, pacer = rule(rate=rate, per_minute=cap), Pacer()
    number, minute = 0, 0
    for level, minutes, quiet in bursts:
        taken = []
        for _ in range(minutes):
            at = [subject(number + n) for n in range(level)]
            outcomes = [decide(made, KEPT, s, pacer, minute * MINUTE_NS).outcome for s in at]
            taken.append(outcomes.count("selected"))
            number, minute = number + level, minute + 1
        minute += quiet
        assert max(taken) <= 2 * cap
        spread = 5 * (cap * minutes) ** 0.5
        assert sum(taken) <= cap * (minutes + 1) + spread
        if level * rate >= 2 * cap:
            assert sum(taken) >= cap * minutes - spread


TRAFFIC = (120, 300, 60, 500, 500, 20, 240)


Row = tuple[int, Subject, Checks, bool]


def traffic() -> Iterator[Row]:
    """Yield minute, trace, what conditions say, and whether it passes: busy minutes go worse."""
    number = 0
    for minute, count in enumerate(TRAFFIC):
        for n in range(count):
            is_error = n % 10 == 0
            passes = not is_error and n % 100 >= count // 8
            yield minute, subject(number), ALWAYS if is_error else KEPT, passes
            number += 1


def with_late(every: int) -> list[Row]:
    """Return the traffic; each so-manieth trace has another revision two minutes later."""
    rows = list(traffic())
    again = [
        (minute + 2, Subject(target_id=s.target_id, revision=2, kind="agent"), checks, passes)
        for minute, s, checks, passes in rows[:: every or len(rows)]
    ]
    return sorted([*rows, *(again if every else [])], key=lambda row: row[0])


def estimates(made: Rule, rows: Sequence[Row]) -> tuple[float, float]:
    """Return (weighted, plain) pass rate of what the rule judges, in its newest revisions."""
    pacer = Pacer()
    newest: dict[str, tuple[Decision, bool]] = {}
    for minute, s, checks, passes in rows:
        now_ns = minute * MINUTE_NS
        now = Circumstances(cap_factor=pacer.factor(made, now_ns), former=_former(newest, s))
        decision = choose(made, checks, s, now)
        pacer.note(decision, now_ns)
        newest[s.target_id] = decision, passes
    judged = [(d, p) for d, p in newest.values() if d.outcome == "selected"]
    weights = [1 / d.probability for d, _ in judged if d.probability]
    plain = fmean(p for _, p in judged)
    weighted = sum(w * p for w, (_, p) in zip(weights, judged, strict=True)) / sum(weights)
    return weighted, plain


def _former(newest: dict[str, tuple[Decision, bool]], s: Subject) -> Former | None:
    if s.target_id not in newest:
        return None
    before = newest[s.target_id][0]
    assert before.probability is not None
    return Former(stratum=before.stratum, probability=before.probability)


def mean_and_error(found: Sequence[float]) -> tuple[float, float]:
    return fmean(found), stdev(found) / len(found) ** 0.5


@pytest.mark.parametrize("every", [0, 7])
def test_weights_take_the_bias_out_of_strata_caps_and_revisions(every: int) -> None:
    rows = with_late(every)
    truth = fmean(passes for *_, passes in traffic())
    found = [estimates(rule(f"r{n}", rate=0.3, per_minute=60), rows) for n in range(50)]
    weighted, error = mean_and_error([w for w, _ in found])
    plain, plain_error = mean_and_error([p for _, p in found])
    assert abs(weighted - truth) < 4 * error
    assert abs(plain - truth) > 10 * plain_error


def test_a_minute_is_the_same_however_it_is_cut_into_batches() -> None:
    made, pacer = rule(rate=0.5, per_minute=50), Pacer()
    counts: Counter[str] = Counter()
    for minute, s, checks, _ in traffic():
        counts[decide(made, checks, s, pacer, minute * MINUTE_NS).outcome] += 1
        assert pacer.of("r", minute).sampled.total() <= TRAFFIC[minute]
    assert counts["selected"] + counts["sampled_out"] + counts["overloaded"] == sum(TRAFFIC)
    assert counts["overloaded"]
