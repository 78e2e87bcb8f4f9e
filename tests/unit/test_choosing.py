"""Strata, caps, conversations, budgets and load: what a sample takes, and with what chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tracejury_collector.config import parse_config
from tracejury_collector.errors import ConfigError
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
from tracejury_collector.sampling import sample_point

HOLDS = ConditionResult(holds=True)
FAILS = ConditionResult(holds=False)
BROKEN = ConditionResult(holds=False, error="division by zero")
STRATA = {
    "rate": 0.0,
    "always": ["has_error", "latency_ms > 9"],
    "strata": {"big": {"where": "span_count > 9", "rate": 0.5}, "out": {"where": "1=1", "rate": 0}},
}


def rule(**sample: Any) -> Rule:
    spec = {"evaluators": ["fast"], "sample": sample}
    config = parse_config({"evaluators": {"fast": {"type": "no-loops"}}, "rules": {"r": spec}})
    return compile_rules(config, {"fast": "f1"})[0]


def decide(
    made: Rule,
    strata: Sequence[ConditionResult] = (),
    at: Subject | None = None,
    now: Circumstances | None = None,
) -> Decision:
    found = Checks(where=HOLDS, strata=tuple(strata))
    return choose(made, found, at or subject(), now or Circumstances())


def subject(point: float = 0.0, **fields: Any) -> Subject:
    """Return a trace whose hash for rule `r` lies just above this share of all."""
    ids = (f"{n:032x}" for n in range(100_000))
    found = next(i for i in ids if point <= sample_point(i, "r") / 2**64 < point + 0.01)
    return Subject(**{"target_id": found, "revision": 1, "kind": "agent", **fields})


@pytest.mark.parametrize(
    ("strata", "outcome", "stratum", "probability", "reason"),
    [
        ([HOLDS, FAILS, HOLDS, HOLDS], "selected", "always", 1.0, "'has_error' holds, which is"),
        ([FAILS, HOLDS, FAILS, FAILS], "selected", "always", 1.0, "'latency_ms > 9' holds"),
        ([FAILS, FAILS, HOLDS, HOLDS], "sampled_out", "big", 0.5, "50 % of stratum 'big'"),
        ([FAILS, FAILS, FAILS, HOLDS], "sampled_out", "out", 0.0, "0 % of stratum 'out'"),
        ([FAILS, FAILS, FAILS, FAILS], "sampled_out", "", 0.0, "not in the sample of 0 %"),
        ([HOLDS, BROKEN, BROKEN, BROKEN], "selected", "always", 1.0, "'has_error' holds"),
        ([FAILS, BROKEN, HOLDS, HOLDS], "condition_failed", "always", None, "'latency_ms > 9'"),
        ([FAILS, FAILS, BROKEN, HOLDS], "condition_failed", "big", None, "stratum 'big': its cond"),
    ],
)
def test_the_first_stratum_that_holds_sets_the_chance(
    strata: list[ConditionResult],
    outcome: str,
    stratum: str,
    probability: float | None,
    reason: str,
) -> None:
    found = decide(rule(**STRATA), strata, subject(0.7))
    assert (found.outcome, found.stratum, found.probability) == (outcome, stratum, probability)
    assert reason in found.reason
    assert found.sampled_by == (None if probability is None else "trace")


def test_strata_of_what_the_rule_does_not_judge_are_not_asked() -> None:
    checks = Checks(where=FAILS, strata=(BROKEN, BROKEN, BROKEN, BROKEN))
    assert choose(rule(**STRATA), checks, subject()).outcome == "filtered"


@pytest.mark.parametrize(
    ("now", "outcome", "probability", "reason"),
    [
        ({}, "selected", 0.5, "in the sample of 50 %"),
        (
            {"cap_factor": 0.5},
            "selected",
            0.25,
            "in the sample of 25 %, lowered from 50 % to keep to 60 a minute",
        ),
        ({"cap_factor": 0.1}, "sampled_out", 0.05, "not in the sample of 5 %, lowered from 50 %"),
        ({"budget_refusal": "nothing left"}, "over_budget", 0.5, "nothing left"),
        ({"overload": "too many"}, "overloaded", None, "too many"),
        ({"budget_refusal": "no", "overload": "too many"}, "over_budget", 0.5, "no"),
        ({"cap_factor": 0.1, "overload": "too many"}, "sampled_out", 0.05, "not in"),
    ],
)
def test_a_cap_comes_before_the_hash_and_budget_and_load_after_it(
    now: dict[str, Any], outcome: str, probability: float | None, reason: str
) -> None:
    found = decide(rule(rate=0.5, per_minute=60), at=subject(0.2), now=Circumstances(**now))
    assert (found.outcome, found.probability) == (outcome, probability)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("former", "stratum_holds", "probability"),
    [
        (Former(stratum="", probability=0.5), False, 0.5),
        (Former(stratum="", probability=0.05), False, 0.05),
        (Former(stratum="", probability=0.05), True, 0.1),
        (Former(stratum="always", probability=0.5), False, 0.25),
        (Former(stratum="gone", probability=0.5), True, 1.0),
        (None, False, 0.1),
    ],
)
def test_a_later_revision_keeps_to_the_cap_that_the_first_one_met(
    former: Former | None, stratum_holds: bool, probability: float
) -> None:
    capped = rule(rate=0.5, always=["has_error"], per_minute=60)
    now = Circumstances(cap_factor=0.2, former=former)
    found = decide(capped, [HOLDS if stratum_holds else FAILS], now=now)
    assert found.probability == pytest.approx(probability)


def test_without_a_cap_a_later_revision_is_sampled_at_the_rate_of_its_own_stratum() -> None:
    former = Circumstances(former=Former(stratum="always", probability=1.0), cap_factor=0.3)
    found = decide(rule(rate=0.5, always=["has_error"]), [FAILS], now=former)
    assert found.probability == 0.5


def test_a_cap_that_met_a_rate_of_nothing_is_no_measure() -> None:
    former = Former(stratum="", probability=0.0)
    now = Circumstances(cap_factor=0.2, former=former)
    capped = rule(rate=0.0, always=["has_error"], per_minute=60)
    assert decide(capped, [HOLDS], now=now).probability == pytest.approx(0.2)


def test_conversations_are_judged_whole_or_not_at_all() -> None:
    by_session = rule(rate=0.5, by="session")
    for n in range(40):
        traces = [
            Subject(target_id=f"{n}-{m}", revision=1, kind="agent", project="p", session_id=f"c{n}")
            for m in range(5)
        ]
        found = [decide(by_session, at=trace) for trace in traces]
        assert len({d.outcome for d in found}) == 1
        assert {d.sampled_by for d in found} == {"session"}
        assert "of conversations" in found[0].reason


def test_conversations_of_one_id_in_two_projects_are_two() -> None:
    by_session = rule(rate=0.5, by="session")

    def outcomes(project: str) -> list[str]:
        of_project = (subject(project=project, session_id=f"c{n}") for n in range(40))
        return [decide(by_session, at=s).outcome for s in of_project]

    assert outcomes("one") != outcomes("two")


def test_a_trace_outside_of_conversations_is_sampled_by_itself() -> None:
    found = decide(rule(rate=0.5, by="session"), at=subject(0.2))
    assert (found.sampled_by, found.reason) == ("trace", "in the sample of 50 %")


def test_a_session_is_sampled_by_itself_whatever_the_rule_says() -> None:
    whole = subject(target_kind="session", session_id="c1", project="p")
    assert decide(rule(rate=0.5), at=whole).sampled_by == "session"
    assert decide(rule(), at=whole).reason == "every session that passes is judged"


def test_what_no_rate_can_take_is_known_beforehand() -> None:
    def may_take(of: Rule, at: Subject) -> bool:
        return of.draw.takes(at.target_id, at.project, at.session_id)

    assert not may_take(rule(rate=0.5), subject(0.7))
    assert may_take(rule(rate=0.5, always=["has_error"]), subject(0.7))
    assert may_take(rule(**{**STRATA, "always": []}), subject(0.4))
    assert not may_take(rule(rate=0), subject())


@pytest.mark.parametrize("by", ["trace", "session"])
def test_what_may_be_taken_is_known_as_it_is_decided(by: str) -> None:
    half = rule(rate=0.5, by=by)
    for point in range(20):
        at = subject(point / 20, session_id=f"c{point}", project="p")
        taken = decide(half, at=at).outcome == "selected"
        assert half.draw.takes(at.target_id, at.project, at.session_id) is taken


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ({"strata": {"always": {"where": "has_error"}}}, r"strata.*'always' is the name of"),
        ({"strata": {"": {"where": "has_error"}}}, r"strata"),
        ({"strata": {"big": {"rate": 0.5}}}, r"strata\.big\.where"),
        ({"strata": {"big": {"where": "a", "rate": 2}}}, r"strata\.big\.rate"),
        ({"always": [""]}, r"always"),
        ({"always": "has_error"}, r"always"),
        ({"always": ["true"] * 21}, r"always"),
        ({"per_minute": 0}, r"per_minute"),
        ({"per_minute": 0.5}, r"per_minute"),
        ({"by": "user"}, r"by"),
        ({"rate": float("nan")}, r"rate"),
    ],
)
def test_a_sample_that_cannot_be_meant_is_refused(sample: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        rule(**sample)


def test_what_a_sample_does_not_say_does_not_change_its_rule() -> None:
    plain = rule(rate=0.5)
    assert rule(rate=0.5, always=[], strata={}, by="trace").fingerprint == plain.fingerprint
    others: list[dict[str, Any]] = [{"always": ["has_error"]}, {"per_minute": 9}, {"by": "session"}]
    assert len({rule(rate=0.5, **other).fingerprint for other in others}) == 3


def test_the_order_of_strata_is_part_of_a_rule() -> None:
    one, two = {"where": "a", "rate": 0.5}, {"where": "b", "rate": 0.5}
    forth = rule(strata={"one": one, "two": two})
    assert forth.fingerprint != rule(strata={"two": two, "one": one}).fingerprint


def test_traces_of_judges_are_judged_by_no_stratum() -> None:
    own = replace(subject(), project="tracejury-judges")
    assert decide(rule(always=["true"]), [HOLDS], own).outcome == "filtered"


def test_a_reason_quotes_a_long_condition_in_part() -> None:
    long = " OR ".join(["has_error"] * 1000)
    reasons = [
        decide(rule(always=[long]), [HOLDS]).reason,
        decide(rule(always=[long]), [BROKEN]).reason,
        choose(replace(rule(), where=long), Checks(where=FAILS), subject()).reason,
        choose(replace(rule(), where=long), Checks(where=BROKEN), subject()).reason,
    ]
    assert all("has_error OR" in reason and len(reason) < 400 for reason in reasons)
