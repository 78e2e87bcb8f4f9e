"""Every evaluator type against its cases."""

from __future__ import annotations

import json

import pytest

from tests.helpers.case_runs import outcome_of
from tests.helpers.cases import CASES, Case, differences, load_cases
from tracejury.result import Failure, outcome_from_json, outcome_to_json
from tracejury_evaluators.registry import built_in_registry

REGISTRY = built_in_registry()
TYPES = [row.type for row in REGISTRY.types()]
ALL = [case for path in sorted(CASES.glob("*.json")) for case in load_cases(path)]


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.type}: {case.name}")
def test_an_evaluator_answers_as_its_case_says(case: Case) -> None:
    outcome = outcome_of(case, REGISTRY)
    assert differences(outcome, case.expect) == {}, outcome


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.type}: {case.name}")
def test_every_outcome_is_json_with_a_reason(case: Case) -> None:
    outcome = outcome_of(case, REGISTRY)
    text = json.dumps(outcome_to_json(outcome), allow_nan=False)
    assert outcome_from_json(json.loads(text)) == outcome
    assert outcome.message if isinstance(outcome, Failure) else outcome.reason


def test_every_type_has_cases_and_every_cases_file_a_type() -> None:
    assert {path.stem for path in CASES.glob("*.json")} == set(TYPES)


@pytest.mark.parametrize("type_name", TYPES)
def test_the_cases_of_a_type_reach_a_pass_a_fail_and_a_skip(type_name: str) -> None:
    expected = [case.expect for case in ALL if case.type == type_name]
    reached = {expect.get("verdict") or expect["outcome"] for expect in expected}
    assert {"pass", "fail", "skip"} <= reached


def test_case_names_are_unique_within_a_type() -> None:
    names = [(case.type, case.name) for case in ALL]
    assert len(names) == len(set(names))
