"""Evaluators that look for expected texts in an answer as they are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from tracejury.result import Score, Skip
from tracejury_evaluators.facts import Answer, counted
from tracejury_evaluators.output.base import (
    NAMES_OF_EXPECTED,
    NO_EXPECTED,
    ComparingEvaluator,
    Expected,
    ExpectedText,
    Judge,
    shown,
    texts_of,
)

ContainsMode = Literal["all", "any", "none"]


class _OneOf(ComparingEvaluator[ExpectedText]):
    """Passes where one of the expected texts stands in a relation to the answer."""

    aliases: ClassVar[Mapping[str, str]] = NAMES_OF_EXPECTED
    verb: ClassVar[str] = ""

    expected: Expected | None = Field(
        default=None, description="text expected, or texts of which one is enough"
    )

    @abstractmethod
    def holds(self, text: str, expected: str) -> bool:
        """Whether the relation holds between two normalized texts."""

    def judge_for(self, criteria: ExpectedText) -> Judge | Skip:
        expected = texts_of(criteria.expected, self.expected)
        if not expected:
            return NO_EXPECTED
        wanted = [(text, self.normalized(text)) for text in expected]
        return lambda answer: self._judged(answer, wanted)

    def _judged(self, answer: Answer, wanted: Sequence[tuple[str, str]]) -> Score | Skip:
        text = self.normalized(answer.text)
        found = next((own for own, form in wanted if self.holds(text, form)), None)
        if found is not None:
            return Score(1.0, "pass", f"the output {self.verb} {shown(found)}", hits=[found])
        if answer.altered:
            return Skip(f"the recorded content was {answer.altered} and differs from the expected")
        told = f"{shown(wanted[0][0])}{' or another expected text' if wanted[1:] else ''}"
        return Score(
            0.0,
            "fail",
            f"the output {shown(answer.text)} does not {NEGATED[self.verb]} {told}",
            misses=[own for own, _ in wanted],
            evidence=answer.evidence,
        )


class Equals(_OneOf):
    """Passes if the answer is the expected text, or one of several.

    Both are brought into one form first: white space at the ends does not count, and letters
    composed or decomposed are the same; more can be left out by the config. An empty text is
    equal to an empty answer. Skipped where no text is expected, where the answer was not
    captured, and where it was truncated or redacted and differs.
    """

    type: ClassVar[str] = "equals"
    label: ClassVar[str] = "Equals"
    verb: ClassVar[str] = "equals"

    def holds(self, text: str, expected: str) -> bool:
        return text == expected


class StartsWith(_OneOf):
    """Passes if the answer starts with the expected text, or with one of several.

    Every answer starts with the empty text. Skipped where no text is expected, where the answer
    was not captured, and where it was truncated or redacted and starts otherwise.
    """

    type: ClassVar[str] = "starts-with"
    label: ClassVar[str] = "Starts with"
    verb: ClassVar[str] = "starts with"

    def holds(self, text: str, expected: str) -> bool:
        return text.startswith(expected)


class EndsWith(_OneOf):
    """Passes if the answer ends with the expected text, or with one of several.

    Every answer ends with the empty text. Skipped where no text is expected, where the answer
    was not captured, and where it was truncated or redacted and ends otherwise.
    """

    type: ClassVar[str] = "ends-with"
    label: ClassVar[str] = "Ends with"
    verb: ClassVar[str] = "ends with"

    def holds(self, text: str, expected: str) -> bool:
        return text.endswith(expected)


NEGATED = {"equals": "equal", "starts with": "start with", "ends with": "end with"}


class ContainsCriteria(ExpectedText):
    """The texts of one case, and how many of them the answer must contain."""

    mode: ContainsMode | None = Field(
        default=None, description="all, any or none of the texts must be in the answer"
    )


class Contains(ComparingEvaluator[ContainsCriteria]):
    """Passes if the answer contains all of the expected texts, or any, or none of them.

    The value is the share of the texts that are as they must be: found, or with `none` absent;
    with `any` it is 1.0 or 0.0. With `none` one text found is a fail. The empty text is in every
    answer. `negated` passes where it would not pass. Skipped where no text is expected, where
    the answer was not captured, and where it was truncated or redacted and a text that is
    missing would decide.
    """

    type: ClassVar[str] = "contains"
    label: ClassVar[str] = "Contains"
    aliases: ClassVar[Mapping[str, str]] = NAMES_OF_EXPECTED

    expected: Expected | None = Field(default=None, description="text, or texts, expected")
    mode: ContainsMode = Field(
        default="all", description="all, any or none of the texts must be in the answer"
    )
    negated: bool = Field(default=False, description="true: passes where it would not pass")
    strip: bool = Field(
        default=False, description="whether white space at the ends of both texts is left out"
    )

    def judge_for(self, criteria: ContainsCriteria) -> Judge | Skip:
        expected = texts_of(criteria.expected, self.expected)
        if not expected:
            return NO_EXPECTED
        wanted = [(text, self.normalized(text)) for text in dict.fromkeys(expected)]
        mode = criteria.mode or self.mode
        return lambda answer: self._judged(answer, wanted, mode)

    def _judged(
        self, answer: Answer, wanted: Sequence[tuple[str, str]], mode: ContainsMode
    ) -> Score | Skip:
        text = self.normalized(answer.text)
        found = [own for own, form in wanted if form in text]
        missing = [own for own, form in wanted if form not in text]
        decided = not missing if mode == "all" else bool(found)
        if answer.altered and not decided:
            return Skip(f"the recorded content was {answer.altered}, without {shown(missing[0])}")
        value = _share(mode, len(found), len(wanted))
        if self.negated:
            value = float(value < 1)
        right = self.negated == (mode == "none")
        return Score(
            value,
            "fail" if value < 1 and mode == "none" else None,
            _contained(found, missing),
            hits=found if right else missing,
            misses=missing if right else found,
            details={"found": found, "missing": missing, "mode": mode, "negated": self.negated},
            evidence=answer.evidence if value < 1 else (),
        )


def _share(mode: ContainsMode, found: int, wanted: int) -> float:
    if mode == "any":
        return float(found > 0)
    return (found if mode == "all" else wanted - found) / wanted


def _contained(found: Sequence[str], missing: Sequence[str]) -> str:
    if not missing:
        return f"the output contains {_several(found)}"
    if not found:
        return f"the output does not contain {_several(missing)}"
    return f"the output contains {_several(found)}, but not {_several(missing)}"


def _several(texts: Sequence[str]) -> str:
    more = f" and {counted(len(texts) - 1, 'more text')}" if texts[1:] else ""
    return f"{shown(texts[0])}{more}"
