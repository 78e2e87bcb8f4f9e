"""Many days of traffic, sampled by the rules themselves: intervals cover what really passed.

The traffic is skewed: what errs is always judged, long conversations go wrong more often, the load
changes from minute to minute, and with it the share that passes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from tests.helpers.rules import sampling_rule
from tracejury_collector.estimates import Judged, estimate, moments
from tracejury_collector.intervals import share_of
from tracejury_collector.rules import (
    Checks,
    Circumstances,
    ConditionResult,
    Decision,
    Former,
    Rule,
    Subject,
    choose,
)
from tracejury_collector.rules.pacing import MINUTE_NS, Pacer, overflow

DAYS = {"strata": 250, "caps": 250, "sessions": 250, "all at once": 1000}
SESSIONS = 80
MINUTES = 12
BUSY = (4, 5, 6, 7)
YES, NO = ConditionResult(holds=True), ConditionResult(holds=False)
RULES: Mapping[str, Rule] = {
    "strata": sampling_rule(
        rate=0.1, always=["has_error"], strata={"slow": ("tool_calls > 9", 0.5)}
    ),
    "caps": sampling_rule(rate=0.9, per_minute=12),
    "sessions": sampling_rule(rate=0.25, by="session"),
    "all at once": sampling_rule(
        rate=0.5,
        always=["has_error"],
        strata={"slow": ("tool_calls > 9", 0.8)},
        per_minute=12,
        by="session",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One trace of the traffic."""

    trace_id: str
    session_id: str
    minute: int
    passes: bool
    errs: bool
    slow: bool


def traffic(day: int, rng: random.Random) -> list[Run]:
    """Return the runs of a day in the order of their time."""
    runs = []
    for number in range(SESSIONS):
        busy = rng.random() < 0.6
        start = rng.choice(BUSY) if busy else rng.randrange(MINUTES)
        turns = min(20, 1 + int(rng.expovariate(0.3)))
        good = rng.betavariate(3, 3) if turns > 6 or busy else rng.betavariate(12, 1)
        for turn in range(turns):
            passes = rng.random() < good
            runs.append(
                Run(
                    trace_id=f"{day}-{number}-{turn}",
                    session_id=f"{day}-{number}",
                    minute=start + turn // 8,
                    passes=passes,
                    errs=rng.random() < (0.01 if passes else 0.4),
                    slow=rng.random() < (0.05 if passes else 0.2),
                )
            )
    return sorted(runs, key=lambda run: run.minute)


def decisions(rule: Rule, runs: list[Run], day: int) -> Iterator[tuple[Run, Decision]]:
    """Decide as the service does: caps by the minute before, conversations by the first turn."""
    pacer, formers = Pacer(), dict[str, Former]()
    for run in runs:
        now_ns = (day * 100 + run.minute) * MINUTE_NS
        circumstances = Circumstances(
            cap_factor=pacer.factor(rule, now_ns),
            former=formers.get(run.session_id) if rule.per_minute else None,
            overload=overflow(rule, pacer.of(rule.name, now_ns // MINUTE_NS).selected),
        )
        held = {"has_error": run.errs, "tool_calls > 9": run.slow}
        strata = tuple(YES if held[stratum.where] else NO for stratum in rule.strata)
        subject = Subject(
            target_id=run.trace_id, revision=1, kind="agent", session_id=run.session_id
        )
        decision = choose(rule, Checks(where=YES, strata=strata), subject, circumstances)
        pacer.note(decision, now_ns)
        if decision.sampled_by == "session" and decision.probability is not None:
            former = Former(stratum=decision.stratum, probability=decision.probability)
            formers.setdefault(run.session_id, former)
        yield run, decision


def judged(run: Run, decision: Decision) -> Judged:
    assert decision.probability is not None
    return Judged(
        passes=run.passes,
        weight=1 / decision.probability,
        cluster=run.session_id if decision.sampled_by == "session" else run.trace_id,
        stratum=decision.stratum,
    )


@pytest.mark.parametrize("name", DAYS)
def test_intervals_cover_what_really_passed_and_the_plain_mean_does_not(name: str) -> None:
    rng = random.Random(20261122)
    covered = naive = days = 0
    for day in range(DAYS[name]):
        runs = traffic(day, rng)
        drawn = [
            judged(run, decision)
            for run, decision in decisions(RULES[name], runs, day)
            if decision.outcome == "selected"
        ]
        found = estimate(moments(drawn))
        plain = share_of(sum(j.passes for j in drawn), len(drawn))
        if found is None or plain is None:
            continue
        days += 1
        truth = sum(run.passes for run in runs) / len(runs)
        covered += found.share.low <= truth <= found.share.high
        naive += plain.low <= truth <= plain.high
    assert days > 0.99 * DAYS[name]
    assert covered >= 0.93 * days
    assert naive < 0.9 * days
