"""Both forms of an evaluator as authors write them; this file is also checked by mypy --strict."""

from __future__ import annotations

from typing import Any, ClassVar

from tracejury import Criteria, Evaluator, Score, Skip, Trace, evaluator
from tracejury.evaluator import run_evaluator
from tracejury.similarity import jaccard
from tracejury.testing import make_tool_call, make_trace


@evaluator("mentions-price")
def mentions_price(trace: Trace, *, currency: str = "EUR") -> bool:
    """Passes if the answer names a price."""
    return currency in trace.output_text


class Expected(Criteria):
    expected: list[str] = []  # noqa: RUF012 - a model copies its defaults


class PatternOverlap(Evaluator[Expected]):
    """Jaccard similarity of the patterns the agent wrote and those expected."""

    type: ClassVar[str] = "pattern-overlap"
    version: ClassVar[int] = 1

    threshold: float = 0.8

    def evaluate(self, trace: Trace, criteria: Expected) -> Score | Skip:
        if not criteria.expected:
            return Skip("no expected patterns given")
        written = [call.name for call in trace.tool_calls]
        return Score(jaccard(written, criteria.expected))


class SlowOverlap(Evaluator[Expected]):
    type: ClassVar[str] = "slow-overlap"

    async def evaluate(self, trace: Trace, criteria: Expected) -> Score:
        return Score(1.0 if criteria.expected else 0.5)


class AnyAnswer(Evaluator):
    type: ClassVar[str] = "any-answer"

    def evaluate(self, trace: Trace, _criteria: Criteria) -> bool:
        return bool(trace.output_text)


@evaluator("names-all", version=2, label="Names all")
async def names_all(trace: Trace, criteria: Expected, *, ignore_case: bool = False) -> float:
    """The share of the expected texts that the answer names."""
    text = trace.output_text.lower() if ignore_case else trace.output_text
    wanted = [item.lower() if ignore_case else item for item in criteria.expected]
    return sum(item in text for item in wanted) / len(wanted)


TRACE = make_trace(output="It costs 5 EUR.", tool_calls=[make_tool_call("search"), "read"])


def test_a_function_is_an_evaluator_whose_keywords_are_its_config() -> None:
    assert run_evaluator(mentions_price(), TRACE) == Score(1.0, "pass")
    assert run_evaluator(mentions_price(currency="USD"), TRACE) == Score(0.0, "fail")
    assert mentions_price.function(TRACE, currency="USD") is False


def test_a_class_is_an_evaluator_whose_fields_are_its_config() -> None:
    criteria = {"expected": ["search", "read", "write"]}
    assert run_evaluator(PatternOverlap(), TRACE, criteria) == Score(2 / 3, "partial")
    assert run_evaluator(PatternOverlap(threshold=0.5), TRACE, criteria) == Score(2 / 3, "pass")
    assert run_evaluator(PatternOverlap(), TRACE) == Skip("no expected patterns given")


def test_criteria_may_be_given_as_an_instance() -> None:
    criteria = Expected(expected=["search", "read"])
    assert run_evaluator(PatternOverlap(), TRACE, criteria) == Score(1.0, "pass")


def test_async_evaluators_of_both_forms_are_run() -> None:
    assert run_evaluator(SlowOverlap(), TRACE) == Score(0.5, "partial")
    outcome = run_evaluator(names_all(ignore_case=True), TRACE, {"expected": ["eur", "usd"]})
    assert outcome == Score(0.5, "partial")


def test_an_evaluator_without_criteria_needs_no_parameter() -> None:
    assert run_evaluator(AnyAnswer(), TRACE) == Score(1.0, "pass")


def test_a_function_carries_version_label_and_description() -> None:
    cls = names_all.evaluator_type
    assert (cls.type, cls.version, cls.label) == ("names-all", 2, "Names all")
    assert cls.__doc__ == "The share of the expected texts that the answer names."
    assert list(cls.config_schema()["properties"]) == ["ignore_case"]
    assert list(cls.criteria_schema()["properties"]) == ["expected"]


def test_any_evaluator_can_be_named_at_run_time() -> None:
    """An alias such as `Evaluator[Any]` is evaluated, unlike an annotation."""
    assert issubclass(Evaluator[Any], Evaluator)
