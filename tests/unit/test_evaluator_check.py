"""`tracejury.testing.check_evaluator`: it finds what is wrong, and lets pass what is not."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pytest
from pydantic import Field

from tracejury import Criteria, Evaluator, Score, Skip, Trace, evaluator
from tracejury.evaluator import EvaluatorFunction, run_evaluator
from tracejury.testing import (
    check_evaluator,
    examine_evaluator,
    make_tool_call,
    make_trace,
    telling_traces,
)


@evaluator("answered")
def answered(trace: Trace, *, least: int = 1) -> Score | Skip:
    """Passes if the answer has so many characters."""
    if trace.flags.not_captured:
        return Skip("the output was not captured")
    characters = len(trace.output_text)
    return Score(float(characters >= least), reason=f"{characters} characters")


class Wanted(Criteria):
    word: str


class Says(Evaluator[Wanted]):
    """Passes if the answer holds the word of the case."""

    type: ClassVar[str] = "says"

    def evaluate(self, trace: Trace, criteria: Wanted) -> Score | Skip:
        if not trace.output_text:
            return Skip("there is no answer")
        return Score(float(criteria.word in trace.output_text), reason="looked")


def test_a_good_evaluator_gets_a_report_with_its_times() -> None:
    report = check_evaluator(answered)
    assert report.type == "answered"
    assert report.findings == ()
    assert len(report.judged) == len(telling_traces())
    assert sum(report.counts().values()) == len(report.judged)
    assert report.slowest is not None
    assert report.slowest.duration_ms >= report.median_ms > 0
    assert "median" in str(report)


def test_own_traces_are_judged_beside_the_telling_ones() -> None:
    report = check_evaluator(answered(), {"mine": make_trace()}, in_another_process=False)
    assert [item.trace for item in report.judged][-1] == "mine"
    numbered = check_evaluator(answered(), [make_trace()], in_another_process=False)
    assert [item.trace for item in numbered.judged][-1] == "yours, number 1"


def test_an_evaluator_that_needs_criteria_says_so_unless_they_are_given() -> None:
    with pytest.raises(AssertionError, match=r"give them as criteria=.*word"):
        check_evaluator(Says())
    report = check_evaluator(Says(), criteria={"word": "degrees"})
    assert all(item.with_criteria for item in report.judged)


def _broken(trace: Trace) -> Score:
    return Score(float(len(trace.tool_calls[0].arguments["city"]) > 0), reason="x")


def _without_reason(trace: Trace) -> bool:
    return bool(trace.tool_calls)


def _random(trace: Trace) -> Score:
    return Score(random.random(), reason="chance")


def _changing(trace: Trace) -> Score:
    for call in trace.tool_calls:
        if isinstance(call.arguments, dict):
            call.arguments.clear()
    return Score(1.0, reason="x")


def _inventing(trace: Trace) -> Score:
    return Score(1.0, reason="x", evidence=["no-such-span"])


def _exiting(trace: Trace) -> Score:
    raise SystemExit(3)


def _not_a_number(trace: Trace) -> float:
    return float("nan")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_broken, "it broke with IndexError"),
        (_without_reason, "a score that is no pass has no reason"),
        (_without_reason, "content was not captured"),
        (_random, "two runs on the same trace differ"),
        (_changing, "it changes the trace"),
        (_inventing, "evidence names 'no-such-span'"),
        (_exiting, "it broke with SystemExit"),
        (_not_a_number, "a score is a finite number in [0, 1]"),
    ],
)
def test_what_is_wrong_is_listed_with_the_trace(
    function: Callable[[Trace], Any], said: str
) -> None:
    made: EvaluatorFunction[Any] = evaluator("wrong")(function)
    with pytest.raises(AssertionError) as raised:
        check_evaluator(made, in_another_process=False)
    line = next(line for line in str(raised.value).splitlines() if said in line)
    assert "(on '" in line


def test_all_findings_are_listed_at_once() -> None:
    def several(trace: Trace) -> Score:
        return Score(random.random() / 2, evidence=["no-such-span"])

    report = examine_evaluator(evaluator("several")(several), in_another_process=False)
    assert len(report.findings) == 3


def test_chance_is_allowed_where_it_is_said() -> None:
    made = evaluator("dice")(_random)
    report = check_evaluator(made, deterministic=False, in_another_process=False)
    assert report.findings == ()


COUNTER = iter(range(1_000_000))


class Drifting(Evaluator):
    """Has a default that is another one each time."""

    type: ClassVar[str] = "drifting"
    number: int = Field(default_factory=lambda: next(COUNTER), exclude=True)

    def fingerprint(self) -> str:
        return f"{self.number:016x}"

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score:
        return Score(1.0, reason="x")


class Seeded(Evaluator):
    """Has a fingerprint that depends on how the process hashes texts."""

    type: ClassVar[str] = "seeded"

    def fingerprint(self) -> str:
        return f"{hash('some text') & (2**64 - 1):016x}"

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score:
        return Score(1.0, reason="x")


def test_a_fingerprint_that_drifts_is_found_here_and_in_another_process() -> None:
    with pytest.raises(AssertionError, match="another one for the same config"):
        check_evaluator(Drifting(), in_another_process=False)
    with pytest.raises(AssertionError, match="another one in another process"):
        check_evaluator(Seeded())


class Grudging(Evaluator):
    """Keeps what it saw in its own config."""

    type: ClassVar[str] = "grudging"
    seen: dict[str, int] = Field(default={})

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score:
        self.seen[trace.output_text] = len(self.seen)
        return Score(1.0, reason="x")


def test_an_evaluator_that_changes_its_own_config_is_found() -> None:
    with pytest.raises(AssertionError, match="it changes its own config"):
        check_evaluator(Grudging(), in_another_process=False)


def test_skipping_everything_is_noted_and_allowed() -> None:
    @evaluator("never")
    def never(trace: Trace) -> Skip:
        return Skip("there is never anything to judge")

    report = check_evaluator(never, in_another_process=False)
    assert "it skipped every trace" in "\n".join(report.notes)


def test_telling_traces_are_fresh_each_time() -> None:
    first = telling_traces()
    arguments = first["usual"].tool_calls[0].arguments
    assert isinstance(arguments, dict)
    arguments.clear()
    assert telling_traces()["usual"].tool_calls[0].arguments == {"city": "Paris"}


def test_telling_traces_hold_what_they_are_named_for() -> None:
    traces = telling_traces()
    assert traces["empty"].spans == ()
    assert traces["not captured"].flags.not_captured
    assert traces["truncated"].flags.truncated
    assert traces["redacted"].flags.redacted
    assert len(traces["huge"].output_text) > 200_000
    assert len(traces["many tools"].tool_calls) == 300
    assert len(traces["many turns"].turns) == 20
    assert traces["errors"].has_error


def test_a_case_of_criteria_as_a_model_is_taken() -> None:
    given: Mapping[str, Any] = {"word": "18"}
    model = Wanted(**given)
    trace = make_trace(tool_calls=[make_tool_call()])
    assert check_evaluator(Says(), [trace], model).findings == ()
    assert run_evaluator(Says(), trace, model) == run_evaluator(Says(), trace, given)
