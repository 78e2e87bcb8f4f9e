"""A case's criteria go before the defaults of a named evaluator, field by field."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from pydantic import Field

from tracejury import Criteria, Evaluator, Failure, Trace, evaluator
from tracejury.errors import DefinitionError
from tracejury.evaluator import criteria_of, run_evaluator
from tracejury.evaluator.criteria import checked_defaults
from tracejury.testing import make_trace

TRACE = make_trace()


class Expected(Criteria):
    aliases: ClassVar[dict[str, str]] = {"mostWords": "max_words"}

    city: str | None = None
    max_words: int = 10
    names: list[str] = Field(default=[])
    kept_as: str | None = Field(default=None, alias="class")


class Required(Criteria):
    city: str
    max_words: int = 10


class Scalar(Criteria):
    city: str | None = None


class Sees(Evaluator[Expected]):
    """Says which criteria it was given."""

    type: ClassVar[str] = "sees"

    def evaluate(self, trace: Trace, criteria: Expected) -> dict[str, Any]:
        return {"score": 1, "details": criteria.model_dump(by_alias=True)}


def seen(criteria: Any, defaults: Any) -> dict[str, Any]:
    outcome = run_evaluator(Sees(), TRACE, criteria, defaults=defaults)
    assert not isinstance(outcome, Failure), outcome
    unset: dict[str, Any] = {"city": None, "max_words": 10, "names": [], "class": None}
    return {k: v for k, v in outcome.details.items() if v != unset[k]}


@pytest.mark.parametrize(
    ("criteria", "defaults", "in_force"),
    [
        (None, None, {}),
        ({}, {}, {}),
        (None, {"city": "Rome"}, {"city": "Rome"}),
        ({}, {"city": "Rome"}, {"city": "Rome"}),
        ({"city": "Oslo"}, {"city": "Rome"}, {"city": "Oslo"}),
        ({"max_words": 3}, {"city": "Rome"}, {"city": "Rome", "max_words": 3}),
        ({"maxWords": 3}, {"max_words": 5}, {"max_words": 3}),
        ({"max_words": 3}, {"mostWords": 5}, {"max_words": 3}),
        ({"city": None}, {"city": "Rome"}, {}),
        ({"names": []}, {"names": ["a"]}, {}),
        ({"names": ["b"]}, {"names": ["a"]}, {"names": ["b"]}),
        ({"class": "x"}, {"class": "y", "city": "Rome"}, {"class": "x", "city": "Rome"}),
        (Expected(city="Oslo"), {"city": "Rome", "max_words": 3}, {"city": "Oslo", "max_words": 3}),
        (Expected(), {"city": "Rome"}, {"city": "Rome"}),
        ({"city": "Oslo"}, Expected(city="Rome", max_words=3), {"city": "Oslo", "max_words": 3}),
        (Expected.model_validate({"class": "x"}), {"city": "Rome"}, {"class": "x", "city": "Rome"}),
    ],
)
def test_a_case_overrides_the_defaults_field_by_field(
    criteria: Any, defaults: Any, in_force: dict[str, Any]
) -> None:
    assert seen(criteria, defaults) == in_force


@pytest.mark.parametrize(
    ("criteria", "defaults", "message"),
    [
        (None, {"cty": "Rome"}, "criteria.cty: unknown field; did you mean 'city'?"),
        ({"max_words": "x"}, {"city": "Rome"}, "criteria.max_words: Input should be a valid int"),
        ({"max_words": 1, "maxWords": 2}, {"city": "a"}, "'maxWords' and 'max_words' are the same"),
        (["city"], {"city": "Rome"}, "criteria: Input should be a valid dictionary"),
        ({1: 2}, {"city": "Rome"}, "criteria.1: "),
    ],
)
def test_criteria_that_do_not_fit_make_a_failure(
    criteria: Any, defaults: Any, message: str
) -> None:
    outcome = run_evaluator(Sees(), TRACE, criteria, defaults=defaults)
    assert isinstance(outcome, Failure)
    assert outcome.error_type == "CriteriaError"
    assert message in outcome.message


def test_defaults_may_leave_required_fields_to_the_cases() -> None:
    assert checked_defaults(Required, {"maxWords": 5}) == {"max_words": 5}
    assert checked_defaults(Expected, {"mostWords": "5"}) == {"max_words": 5}
    with pytest.raises(DefinitionError, match=r"^criteria.citty: unknown field; did you mean"):
        checked_defaults(Required, {"citty": "Rome"})


def test_empty_criteria_are_shared_only_where_nobody_can_change_them() -> None:
    assert criteria_of(Scalar, None) is criteria_of(Scalar, {})
    assert criteria_of(Expected, None) is not criteria_of(Expected, None)


@pytest.mark.parametrize("timeout_s", [0, -1, True, "5", float("nan"), float("inf")])
def test_a_timeout_is_a_number_of_seconds(timeout_s: Any) -> None:
    with pytest.raises(DefinitionError, match="is no number of seconds above 0"):

        @evaluator("slow", timeout_s=timeout_s)
        def slow(trace: Trace) -> bool:
            return True


def test_a_timeout_belongs_to_the_class() -> None:
    @evaluator("slow", timeout_s=120)
    def slow(trace: Trace) -> bool:
        return True

    assert slow().timeout_s == 120
    assert Sees().timeout_s is None
