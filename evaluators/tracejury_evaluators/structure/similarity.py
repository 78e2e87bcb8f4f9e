"""How alike an answer and the expected data are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field, JsonValue, model_validator

from tracejury.evaluator import Criteria
from tracejury.result import Score, Skip, default_verdict
from tracejury_evaluators.json_text import MAX_DEPTH, depth
from tracejury_evaluators.structure.base import JsonEvaluator, JudgeData
from tracejury_evaluators.structure.compare import Comparison, Rules, TooLarge

NAMES_OF_EXPECTED: Mapping[str, str] = {
    "expected_output": "expected",
    "expectedOutput": "expected",
    "reference": "expected",
}


class SimilarityCriteria(Criteria):
    """The data of one case; null is data as well, where a case gives it."""

    aliases: ClassVar[Mapping[str, str]] = NAMES_OF_EXPECTED

    expected: JsonValue = Field(default=None, description="data expected, as data and not as text")

    @model_validator(mode="after")
    def _is_shallow(self) -> SimilarityCriteria:
        if depth(self.expected) > MAX_DEPTH:
            raise ValueError(f"expected is nested deeper than {MAX_DEPTH} levels")
        return self


class JsonSimilarity(JsonEvaluator[SimilarityCriteria]):
    """Passes if the answer's JSON is as like the expected data as the threshold asks.

    The value is the share of the leaves of both that agree: a number by how near it is, a text
    by its edit distance, everything else in full or not at all. Each difference is a miss with
    its place. Skipped where no data is expected, where the data is too large to compare, where
    the answer was not captured, and where it was truncated or redacted and is below the
    threshold.
    """

    type: ClassVar[str] = "json-similarity"
    label: ClassVar[str] = "JSON similarity"
    aliases: ClassVar[Mapping[str, str]] = NAMES_OF_EXPECTED

    expected: JsonValue = Field(default=None, description="data expected where a case names none")
    threshold: float = Field(
        default=0.8, ge=0, le=1, description="similarity from which the case passes"
    )
    extra: Literal["counted", "free"] = Field(
        default="counted", description="whether keys and items that are not expected count"
    )
    lists: Literal["position", "assignment"] = Field(
        default="position",
        description="items are compared by position, or in the pairs that are most alike",
    )
    numbers: Literal["relative", "symmetric", "exact"] = Field(
        default="relative",
        description="relative: 1 - |e - a| / |e|, no less than 0; "
        "symmetric: 1 - |e - a| / (|e| + |a|); exact: equal or not",
    )
    abs_tolerance: float = Field(
        default=0, ge=0, allow_inf_nan=False, description="numbers this near are equal"
    )
    rel_tolerance: float = Field(
        default=0, ge=0, lt=1, description="so are numbers this near, as a share of the larger"
    )
    strings: Literal["levenshtein", "exact"] = Field(
        default="levenshtein", description="how texts compare: by edit distance, or equal or not"
    )
    case_sensitive: bool = Field(default=True, description="whether case counts in texts")
    weigh: Literal["leaves", "levels"] = Field(
        default="leaves",
        description="leaves: every value without parts weighs the same; "
        "levels: every key of an object, every item of a list does",
    )
    unlike: Literal["zero", "text"] = Field(
        default="zero",
        description="values of different kinds: 0, or how alike they are written as JSON",
    )
    true_is_one: bool = Field(default=False, description="true: `true` is 1 and `false` is 0")
    null_is_missing: bool = Field(
        default=False, description="true: null is the same as a key or item that is not there"
    )
    json_strings: bool = Field(
        default=False, description="true: texts that hold a JSON object or list are read as such"
    )

    @model_validator(mode="after")
    def _is_shallow(self) -> JsonSimilarity:
        if depth(self.expected) > MAX_DEPTH:
            raise ValueError(f"expected is nested deeper than {MAX_DEPTH} levels")
        return self

    @cached_property
    def _rules(self) -> Rules:
        return Rules(
            weigh=self.weigh,
            extra=self.extra,
            lists=self.lists,
            numbers=self.numbers,
            strings=self.strings,
            case_sensitive=self.case_sensitive,
            abs_tolerance=self.abs_tolerance,
            rel_tolerance=self.rel_tolerance,
            true_is_one=self.true_is_one,
            null_is_missing=self.null_is_missing,
            json_strings=self.json_strings,
            unlike=self.unlike,
        )

    def judge_for(self, criteria: SimilarityCriteria) -> JudgeData | Skip:
        if "expected" in criteria.model_fields_set:
            expected = criteria.expected
        elif self.expected is not None:
            expected = self.expected
        else:
            return Skip("no expected data is given, neither in the config nor in the criteria")
        return lambda data: self._similar(expected, data)

    def _similar(self, expected: Any, data: Any) -> Score | Skip:
        comparison = Comparison(self._rules)
        try:
            value = comparison.compare(expected, data).share
        except TooLarge as error:
            return Skip(str(error))
        verdict = default_verdict(value, self.threshold)
        misses = comparison.misses
        how = "at least" if verdict == "pass" else "below"
        reason = f"similarity {value:.2f}, {how} {self.threshold:g}"
        return Score(
            value,
            verdict,
            f"{reason}; {misses[0]}" if misses else reason,
            misses=misses,
            details={"similarity": value},
        )
