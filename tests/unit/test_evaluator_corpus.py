"""The default jury on what real frameworks recorded: no false alarm, and no error missed."""

from __future__ import annotations

import functools

import pytest

from tests.helpers.corpus import assemble_case, case_names, read_expected
from tracejury.evaluator import run_evaluator
from tracejury.result import Failure, Outcome, Score
from tracejury.trace import Trace
from tracejury_evaluators.registry import built_in_registry

REGISTRY = built_in_registry()
CASES = pytest.mark.parametrize("case", case_names())


@functools.cache
def traces(case: str) -> list[Trace]:
    return assemble_case(case)


def outcomes(type_name: str, case: str) -> list[Outcome]:
    evaluator = REGISTRY.build(type_name)
    return [run_evaluator(evaluator, trace) for trace in traces(case)]


def failed(found: list[Outcome]) -> bool:
    return any(isinstance(outcome, Score) and outcome.verdict == "fail" for outcome in found)


@CASES
@pytest.mark.parametrize("type_name", ["non-empty-output", "defined-tools", "no-loops"])
def test_a_run_that_went_well_raises_no_alarm(type_name: str, case: str) -> None:
    found = outcomes(type_name, case)
    assert not any(isinstance(outcome, Failure) for outcome in found)
    if not read_expected(case).get("error"):
        assert not failed(found), found


@CASES
def test_tool_errors_are_found_where_they_are_and_nowhere_else(case: str) -> None:
    calls = read_expected(case).get("tool_calls", [])
    assert failed(outcomes("no-tool-errors", case)) == any(call.get("error") for call in calls)


def test_the_corpus_gives_each_juror_something_to_judge() -> None:
    for type_name in ("non-empty-output", "no-tool-errors", "no-loops", "defined-tools"):
        found = [outcome for case in case_names() for outcome in outcomes(type_name, case)]
        scores = sum(isinstance(outcome, Score) for outcome in found)
        assert scores > len(found) / 4, type_name
