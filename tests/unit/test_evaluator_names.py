"""Names under which configs and criteria take their fields."""

from __future__ import annotations

from typing import ClassVar

import pytest
from pydantic import ValidationError

from tracejury import Criteria, Evaluator, Trace
from tracejury.evaluator import run_evaluator
from tracejury.result import Score
from tracejury.testing import make_trace


class Wanted(Criteria):
    expected_words: tuple[str, ...] = ()


class Words(Evaluator[Wanted]):
    type: ClassVar[str] = "words"
    aliases: ClassVar[dict[str, str]] = {"max": "max_words"}
    max_words: int = 5

    def evaluate(self, trace: Trace, criteria: Wanted) -> bool:
        words = trace.output_text.split()
        return len(words) <= self.max_words and set(criteria.expected_words) <= set(words)


@pytest.mark.parametrize("name", ["max_words", "maxWords", "max"])
def test_a_field_is_taken_under_each_of_its_names(name: str) -> None:
    words = Words.model_validate({name: 7})
    assert words.max_words == 7
    assert words.fingerprint() == Words(max_words=7).fingerprint()


def test_criteria_are_taken_in_camel_case() -> None:
    outcome = run_evaluator(Words(), make_trace(output="a b"), {"expectedWords": ["c"]})
    assert isinstance(outcome, Score)
    assert outcome.verdict == "fail"


def test_a_field_given_under_two_names_is_refused() -> None:
    with pytest.raises(ValidationError, match="'max' and 'max_words' are the same field"):
        Words.model_validate({"max": 1, "max_words": 2})


def test_an_unknown_name_is_still_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Words.model_validate({"most": 1})


def test_the_schema_tells_the_own_names_only() -> None:
    assert list(Words.config_schema()["properties"]) == ["max_words"]
