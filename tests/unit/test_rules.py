"""Every rule ends in exactly one decision, with its reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from tracejury.trace import TraceKind
from tracejury_collector.config import Config, parse_config
from tracejury_collector.errors import ConfigError
from tracejury_collector.rules import (
    Checks,
    ConditionResult,
    Rule,
    Subject,
    choose,
    compile_rules,
    decision_id,
)

TRACE = "0af7651916cd43dd8448eb211c80319c"
HOLDS = Checks(where=ConditionResult(holds=True))
FAILS = Checks(where=ConditionResult(holds=False))


def config(**rule: object) -> Config:
    evaluators = {"fast": {"type": "latency-budget"}, "quiet": {"type": "no-loops"}}
    spec = {"evaluators": ["fast", "quiet"], **rule}
    return parse_config({"evaluators": evaluators, "rules": {"production": spec}})


def rule(fingerprints: dict[str, str] | None = None, **spec: Any) -> Rule:
    return compile_rules(config(**spec), fingerprints or {"fast": "f1", "quiet": "q1"})[0]


def subject(trace_id: str = TRACE, revision: int = 1, kind: str = "agent") -> Subject:
    return Subject(target_id=trace_id, revision=revision, kind=kind)


@pytest.mark.parametrize(
    ("spec", "condition", "outcome", "probability", "words"),
    [
        ({}, HOLDS, "selected", 1.0, "every trace that passes is judged"),
        (
            {"where": "has_error"},
            FAILS,
            "filtered",
            None,
            "'has_error'",
        ),
        (
            {"where": "1/0 > 1"},
            Checks(where=ConditionResult(holds=False, error="division")),
            "condition_failed",
            None,
            "'1/0 > 1' failed: division",
        ),
        ({"sample": {"rate": 0.0}}, HOLDS, "sampled_out", 0.0, "not in the sample of 0 %"),
        ({"sample": {"rate": 0.999999}}, HOLDS, "selected", 0.999999, "in the sample of"),
    ],
)
def test_a_decision_has_an_outcome_a_probability_and_a_reason(
    spec: dict[str, Any],
    condition: Checks,
    outcome: str,
    probability: float | None,
    words: str,
) -> None:
    decision = choose(rule(**spec), condition, subject())
    assert (decision.outcome, decision.probability) == (outcome, probability)
    assert words in decision.reason


@pytest.mark.parametrize(
    ("kinds", "kind", "outcome", "reason"),
    [
        (None, "setup", "selected", "every trace that passes is judged"),
        (["agent", "setup"], "setup", "selected", "every trace that passes is judged"),
        (["agent"], "setup", "filtered", "this trace is no run: kind setup"),
        (["agent", "tool"], "llm", "filtered", "this trace is of kind llm, not of agent or tool"),
    ],
)
def test_a_rule_judges_traces_of_its_kinds(
    kinds: list[str] | None, kind: str, outcome: str, reason: str
) -> None:
    decision = choose(rule(kinds=kinds), HOLDS, subject(kind=kind))
    assert (decision.outcome, decision.reason) == (outcome, reason)


def test_the_default_jury_judges_runs() -> None:
    prints = dict.fromkeys(Config().effective_evaluators(), "f")
    prints = {name: f"f-{name}" for name in prints}
    (default,) = compile_rules(Config(), prints)
    chosen = {
        kind
        for kind in get_args(TraceKind)
        if choose(default, HOLDS, subject(kind=kind)).outcome == "selected"
    }
    assert chosen == {"agent", "llm", "tool"}


def test_a_retry_makes_the_same_decision() -> None:
    assert choose(rule(), HOLDS, subject()) == choose(rule(), HOLDS, subject())


def test_the_next_revision_is_sampled_like_the_one_before() -> None:
    half = rule(sample={"rate": 0.5})
    for n in range(50):
        outcomes = {
            choose(half, HOLDS, subject(f"{n:032x}", revision)).outcome for revision in (1, 2, 3)
        }
        assert len(outcomes) == 1


def test_decisions_have_one_id_per_key() -> None:
    keys = [
        ("r1", "", TRACE, 1),
        ("r2", "", TRACE, 1),
        ("r1", "run", TRACE, 1),
        ("r1", "", TRACE[::-1], 1),
        ("r1", "", TRACE, 2),
    ]
    ids = {decision_id(r, run, "trace", target, n) for r, run, target, n in keys}
    assert len(ids) == len(keys)


@pytest.mark.parametrize(
    "other",
    [
        rule(where="has_error"),
        rule(kinds=["agent"]),
        rule(sample={"rate": 0.5}),
        rule(evaluators=["fast"]),
        rule({"fast": "f2", "quiet": "q1"}),
    ],
)
def test_a_rule_that_judges_otherwise_has_another_fingerprint(other: Rule) -> None:
    assert other.fingerprint != rule().fingerprint
    assert rule().fingerprint == rule().fingerprint


def test_an_evaluator_named_twice_judges_once() -> None:
    assert [e.name for e in rule(evaluators=["fast", "fast"]).evaluators] == ["fast"]


def test_one_evaluator_under_two_names_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"rules\.production.*'fast' and 'quiet'"):
        rule({"fast": "same", "quiet": "same"})


@pytest.mark.parametrize(("revision", "outcome"), [(10, "selected"), (11, "revision_limit")])
def test_revisions_past_the_bound_are_not_judged_and_the_reason_names_the_setting(
    revision: int, outcome: str
) -> None:
    judged = replace(subject(revision=revision), max_revisions=10)
    decision = choose(rule(), HOLDS, judged)
    assert decision.outcome == outcome
    assert ("completion.max_revisions" in decision.reason) == (outcome == "revision_limit")
    filtered = choose(rule(where="has_error"), FAILS, judged)
    assert filtered.outcome == "filtered"
