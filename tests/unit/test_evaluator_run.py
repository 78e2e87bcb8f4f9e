"""Running an evaluator: whatever it does, an outcome comes back."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Generator
from typing import Any, ClassVar, NoReturn

import pytest
from pydantic import BaseModel, ValidationError

from tracejury.bounds import MAX_TRACEBACK_CHARS
from tracejury.evaluator import Criteria, Evaluator, Returned, run_evaluator, to_outcome
from tracejury.result import Failure, Outcome, Score, Skip, outcome_to_json
from tracejury.testing import make_trace
from tracejury.trace import Trace

TRACE = make_trace()


class Calls(Evaluator):
    """Returns what a function returns, or raises what it raises."""

    type: ClassVar[str] = "calls"

    function: Callable[[], Any]

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Returned:
        result: Returned = self.function()
        return result


def run(function: Callable[[], Any]) -> Outcome:
    return run_evaluator(Calls(function=function), TRACE)


def failure(function: Callable[[], Any]) -> Failure:
    outcome = run(function)
    assert isinstance(outcome, Failure), outcome
    json.dumps(outcome_to_json(outcome), allow_nan=False)
    return outcome


def raising(error: BaseException) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise error

    return fail


class Silent(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class Loud(Exception):
    def __str__(self) -> str:
        return "x" * 10_000_000


@pytest.mark.parametrize(
    ("error", "error_type", "message"),
    [
        (ValueError("bad \ud83c"), "ValueError", "bad ?"),
        (SystemExit(2), "SystemExit", "2"),
        (KeyboardInterrupt(), "KeyboardInterrupt", "KeyboardInterrupt()"),
        (GeneratorExit(), "GeneratorExit", "GeneratorExit()"),
        (asyncio.CancelledError(), "CancelledError", "CancelledError()"),
        (StopIteration(1), "StopIteration", "1"),
        (MemoryError(), "MemoryError", "MemoryError()"),
        (BaseExceptionGroup("two", [SystemExit(1), ValueError("b")]), "BaseExceptionGroup", "two"),
        (Silent(), "Silent", "the error's text could not be read"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_whatever_is_raised_becomes_a_failure(
    error: BaseException, error_type: str, message: str
) -> None:
    outcome = failure(raising(error))
    assert outcome.error_type == error_type
    assert outcome.message.startswith(message)


def test_a_failure_keeps_the_traceback_from_the_evaluator_on() -> None:
    trail = failure(raising(ValueError("here"))).traceback
    assert "in fail" in trail
    assert trail.endswith("ValueError: here\n")
    assert "run_evaluator" not in trail


def test_a_failure_is_of_bounded_size() -> None:
    outcome = failure(raising(Loud()))
    assert len(outcome.message) <= 4_000
    assert len(outcome.traceback) <= MAX_TRACEBACK_CHARS


def test_recursion_without_end_becomes_a_failure() -> None:
    def deeper(level: int = 0) -> int:
        return deeper(level + 1) + 1

    outcome = failure(deeper)
    assert outcome.error_type == "RecursionError"
    assert len(outcome.traceback) <= MAX_TRACEBACK_CHARS
    assert run(lambda: True) == Score(1.0, "pass")


def test_a_long_chain_of_errors_becomes_a_failure() -> None:
    def chain() -> NoReturn:
        error: BaseException | None = None
        for number in range(2_000):
            linked = ValueError(number)
            linked.__context__ = error
            error = linked
        assert error is not None
        raise error

    assert failure(chain).message == "1999"


@pytest.mark.parametrize(
    ("returned", "error_type", "message"),
    [
        (None, "TypeError", "the evaluator returned NoneType; return a bool, a number"),
        ("pass", "TypeError", "the evaluator returned str"),
        ([1.0], "TypeError", "a score is a number in [0, 1], not a value of type list"),
        (float("nan"), "ValueError", "a score is a finite number in [0, 1], not nan"),
        (float("inf"), "ValueError", "a score is a finite number"),
        (7, "ValueError", "a score is a finite number in [0, 1], not 7"),
        (-0.5, "ValueError", "a score is a finite number"),
        ({}, "ValueError", "the returned mapping has no score: its keys are []"),
        ({"score": float("nan")}, "ValueError", "a score is a finite number"),
        ({"score": None}, "ValueError", "the returned mapping has no score"),
        ({"score": 1, "value": 1}, "ValueError", "the returned mapping names 'value' twice"),
        ({"scores": 1}, "ValueError", "unknown key 'scores'; did you mean 'score'?"),
        ({1: 2}, "ValueError", "unknown key 1"),
        ({"success": "yes"}, "TypeError", "success is true or false, not str"),
        ({"score": 1, "hits": "a"}, "TypeError", "hits is a list of texts"),
        ({"outcome": "great"}, "ValueError", "outcome 'great' is unknown"),
    ],
)
def test_what_is_no_judgement_becomes_a_failure(
    returned: Any, error_type: str, message: str
) -> None:
    outcome = failure(lambda: returned)
    assert outcome.error_type == error_type
    assert message in outcome.message


@pytest.mark.parametrize(
    ("returned", "outcome"),
    [
        (True, Score(1.0, "pass")),
        (False, Score(0.0, "fail")),
        (1, Score(1.0, "pass")),
        (0.25, Score(0.25, "partial")),
        (Score(0.25), Score(0.25, "partial")),
        (Score(0.25, "pass"), Score(0.25, "pass")),
        (Skip("nothing there"), Skip("nothing there")),
        (Failure("Judge", "no answer"), Failure("Judge", "no answer")),
        ({"score": 0.5}, Score(0.5, "partial")),
        ({"value": 1, "reason": "ok", "hits": ["a"]}, Score(1.0, "pass", "ok", ["a"])),
        (
            {"score": 0.85, "hits": ["a"], "misses": ["b"], "reasoning": "mostly"},
            Score(0.85, "partial", "mostly", ["a"], ["b"]),
        ),
        (
            {"success": False, "score": 0.5, "reason": "no", "metadata": {"n": 1}},
            Score(0.5, "fail", "no", details={"n": 1}),
        ),
        ({"success": True, "score": None}, Score(1.0, "pass")),
        ({"outcome": "skip", "reason": "none"}, Skip("none")),
        ({"outcome": "score", "value": 0.5, "verdict": None}, Score(0.5, "partial")),
    ],
)
def test_every_form_of_judgement_is_understood(returned: Any, outcome: Outcome) -> None:
    assert run(lambda: returned) == outcome

    async def later() -> Any:
        await asyncio.sleep(0)
        return returned

    assert run(later) == outcome


def test_a_threshold_makes_the_verdict() -> None:
    assert to_outcome(0.8, threshold=0.8) == Score(0.8, "pass")


class Delayed:
    """Something that can be awaited and is no coroutine."""

    def __await__(self) -> Generator[Any, None, bool]:
        yield from asyncio.sleep(0).__await__()
        return True


def test_anything_awaitable_is_awaited() -> None:
    assert run(Delayed) == Score(1.0, "pass")


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), KeyboardInterrupt()])
def test_what_async_evaluators_raise_becomes_a_failure(error: BaseException) -> None:
    async def fail() -> NoReturn:
        await asyncio.sleep(0)
        raise error

    assert failure(fail).error_type == type(error).__name__


async def test_tasks() -> bool:
    """Not a test: an evaluator that leaves a task behind."""
    asyncio.get_running_loop().create_task(asyncio.sleep(3600))
    return True


test_tasks.__test__ = False  # type: ignore[attr-defined]


def test_an_async_evaluator_leaves_no_task_running() -> None:
    assert run(test_tasks) == Score(1.0, "pass")


def test_an_async_evaluator_runs_where_a_loop_is_running_already() -> None:
    async def judge() -> bool:
        await asyncio.sleep(0)
        return True

    async def main() -> Outcome:
        return run(judge)

    assert asyncio.run(main()) == Score(1.0, "pass")


def test_an_awaitable_that_gives_an_awaitable_is_no_judgement() -> None:
    async def nested() -> Awaitable[bool]:
        return Delayed()

    assert failure(nested).error_type == "TypeError"


class Wanted(Criteria):
    name: str
    most: int = 3


class Wants(Evaluator[Wanted]):
    type: ClassVar[str] = "wants"

    def evaluate(self, trace: Trace, criteria: Wanted) -> bool:
        return criteria.name in trace.output_text


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        (None, "criteria.name: this field is required"),
        ({"nam": "a"}, "criteria.name: this field is required; criteria.nam: unknown field; did"),
        ({"name": 5}, "criteria.name: Input should be a valid string (got 5)"),
        ({"name": "a", "most": "many"}, "criteria.most: Input should be a valid integer"),
        (["name"], "criteria: Input should be a valid dictionary"),
    ],
)
def test_wrong_criteria_name_their_field(criteria: Any, message: str) -> None:
    outcome = run_evaluator(Wants(), TRACE, criteria)
    assert isinstance(outcome, Failure)
    assert outcome.error_type == "CriteriaError"
    assert outcome.message.startswith(message)


def test_criteria_of_another_evaluator_are_validated_as_a_mapping() -> None:
    class Other(Criteria):
        name: str

    outcome = run_evaluator(Wants(), TRACE, Other(name="Paris"))
    assert outcome == Score(1.0, "pass")


def test_a_validation_error_inside_an_evaluator_is_its_own() -> None:
    class Answer(BaseModel):
        city: str

    outcome = failure(lambda: Answer.model_validate({}))
    assert outcome.error_type == ValidationError.__name__
    assert "criteria" not in outcome.message


def test_something_that_is_no_evaluator_becomes_a_failure() -> None:
    thing: Any = object()
    assert isinstance(run_evaluator(thing, TRACE), Failure)


def test_the_recursion_limit_stays_as_it_was() -> None:
    limit = sys.getrecursionlimit()
    failure(raising(RecursionError()))
    assert sys.getrecursionlimit() == limit
