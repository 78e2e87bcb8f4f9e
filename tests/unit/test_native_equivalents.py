"""The built-in evaluators of other systems have equivalents here, under their config names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.helpers.judges import judging_by, serve_judge
from tracejury import Score
from tracejury.evaluator import run_evaluator
from tracejury.result import Outcome
from tracejury.testing import make_llm_call, make_trace
from tracejury.trace import Trace, Turn
from tracejury_evaluators.registry import built_in_registry

REGISTRY = built_in_registry()
CITY = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}


def judged(type_name: str, config: Mapping[str, Any], trace: Trace) -> Outcome:
    return run_evaluator(REGISTRY.build(type_name, config), trace)


def verdict(type_name: str, config: Mapping[str, Any], trace: Trace) -> str | None:
    outcome = judged(type_name, config, trace)
    assert isinstance(outcome, Score), outcome
    return outcome.verdict


@pytest.mark.parametrize(("latency_ms", "expected"), [(2_999, "pass"), (3_001, "fail")])
def test_evalstudios_latency_budget(latency_ms: float, expected: str) -> None:
    trace = make_trace(latency_ms=latency_ms)
    assert verdict("latency-budget", {"maxMs": 3_000}, trace) == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"pattern": "^paris"}, "fail"),
        ({"pattern": "^paris", "flags": "i"}, "pass"),
        ({"pattern": "lyon", "flags": "i", "mustMatch": False}, "pass"),
        ({"pattern": "paris", "flags": "i", "mustMatch": False}, "fail"),
    ],
)
def test_evalstudios_regex(config: dict[str, Any], expected: str) -> None:
    assert verdict("regex", config, make_trace(output="Paris it is.")) == expected


@pytest.mark.parametrize(("output", "expected"), [('{"city": "Lyon"}', "pass"), ("Lyon", "fail")])
def test_evalstudios_json_schema(output: str, expected: str) -> None:
    assert verdict("json-schema", {"schema": CITY}, make_trace(output=output)) == expected


def test_evalstudios_json_schema_judges_the_last_answer_or_all_of_them() -> None:
    turns = (Turn(input="a", output="wait"), Turn(input="b", output='{"city": "Lyon"}'))
    trace = make_trace(output=turns[-1].output, turns=turns)
    found = [
        verdict("json-schema", {"schema": CITY, "onlyFinal": only_final}, trace)
        for only_final in (True, False)
    ]
    assert found == ["pass", "fail"]


@pytest.mark.parametrize(("used", "expected"), [(100, "pass"), (101, "fail")])
def test_evalstudios_token_budget(used: int, expected: str) -> None:
    trace = make_trace(llm_calls=[make_llm_call(input_tokens=used - 20, output_tokens=20)])
    assert verdict("token-budget", {"maxTokens": 100}, trace) == expected


@pytest.mark.parametrize("mode", ["every_turn", "on_max_messages"])
@pytest.mark.parametrize(("score", "expected"), [(1.0, "pass"), (0.0, "fail")])
def test_evalstudios_llm_judge(mode: str, score: float, expected: str) -> None:
    config = {
        "successCriteria": "An appointment was made.",
        "failureCriteria": "A free slot was made up.",
        "failureCriteriaMode": mode,
    }
    ruling = {
        "score": score,
        "verdict": expected,
        "reasoning": "so it was",
        "hits": [],
        "misses": [],
        "failure_met": expected == "fail",
        "failed_turns": [1] if expected == "fail" and mode == "every_turn" else [],
    }
    with serve_judge([ruling] * 4) as judge, judging_by(judge):
        outcome = judged("llm-judge", config, make_trace())
    assert isinstance(outcome, Score), outcome
    assert outcome.verdict == expected
    assert "An appointment was made." in " ".join(judge.prompts)


@pytest.mark.parametrize(
    ("max_ms", "expected", "value"), [(2_000, "pass", 1.0), (800, "fail", 0.75)]
)
def test_evalstudios_aggregation_all_must_pass_and_the_lowest_score_counts(
    max_ms: int, expected: str, value: float
) -> None:
    members = [
        {"type": "regex", "config": {"pattern": "degrees"}},
        {"type": "latency-budget", "config": {"maxMs": max_ms}},
    ]
    outcome = judged(
        "composite", {"members": members, "aggregation": "all"}, make_trace(latency_ms=1_000)
    )
    assert isinstance(outcome, Score), outcome
    assert (outcome.verdict, outcome.value) == (expected, value)
    assert [member["type"] for member in outcome.details["members"]] == ["regex", "latency-budget"]


def test_evalstudios_result_of_success_score_reason_and_metadata() -> None:
    from tracejury import evaluator

    @evaluator("availability")
    def availability(trace: Trace) -> dict[str, Any]:
        """Passes if every slot offered is free."""
        return {"success": False, "score": 0.5, "reason": "taken", "metadata": {"claims": 2}}

    outcome = run_evaluator(availability(), make_trace())
    assert outcome == Score(0.5, "fail", "taken", details={"claims": 2})


@pytest.mark.parametrize(
    ("type_name", "config"),
    [
        ("latency-budget", {"budget_ms": 5000, "warn_pct": 0.8}),
        ("token-budget", {"max_total_tokens": 8000, "max_input_tokens": 6000}),
        ("tool-usage", {"expected_tools": ["search"], "strict_order": True}),
        ("json-schema", {"schema": {"type": "string"}}),
        (
            "regex",
            {
                "patterns": [
                    {"pattern": "a", "weight": 2.0, "must_match": False, "description": "no a"}
                ]
            },
        ),
        (
            "composite",
            {
                "pass_threshold": 0.75,
                "partial_threshold": 0.4,
                "members": [{"type": "non-empty-output", "weight": 2.0}],
            },
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_agentprobes_recipes_are_built_in_with_the_same_fields(
    type_name: str, config: dict[str, Any]
) -> None:
    evaluator = REGISTRY.build(type_name, config)
    assert evaluator.type == type_name
