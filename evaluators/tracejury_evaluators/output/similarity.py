"""Evaluators of how close an answer is to an expected text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pydantic import Field

from tracejury import similarity
from tracejury.result import Score, Skip
from tracejury_evaluators.facts import Answer
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

Items = Sequence[Hashable]
Unit = Literal["characters", "words"]
Measure = Callable[[Items, Items], float]

MAX_CELLS = 10**10
"""Pairs of items that two texts may have to be compared in order: well under a second."""
MAX_CELLS_OF_ANY = 10**8
"""The same where the algorithm looks at each pair by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """How close an answer is to one expected text."""

    expected: str
    value: float
    details: Mapping[str, Any] = field(default_factory=dict)


class _Closeness(ComparingEvaluator[ExpectedText]):
    """The similarity of the answer to the expected text, or to the closest of several."""

    aliases: ClassVar[Mapping[str, str]] = NAMES_OF_EXPECTED

    expected: Expected | None = Field(
        default=None, description="text expected, or texts of which the closest counts"
    )
    threshold: float = Field(
        default=0.8, ge=0, le=1, description="similarity from which the case passes"
    )

    @abstractmethod
    def closeness(self, expected: str, answer: str) -> tuple[float, Mapping[str, Any]] | Skip:
        """The similarity of two normalized texts, and what else is known of it."""

    def judge_for(self, criteria: ExpectedText) -> Judge | Skip:
        expected = texts_of(criteria.expected, self.expected)
        if not expected:
            return NO_EXPECTED
        wanted = [(text, self.normalized(text)) for text in expected]
        return lambda answer: self._judged(answer, wanted)

    def _judged(self, answer: Answer, wanted: Sequence[tuple[str, str]]) -> Score | Skip:
        text = self.normalized(answer.text)
        best: Closeness | None = None
        for own, form in wanted:
            measured = self.closeness(form, text)
            if isinstance(measured, Skip):
                return measured
            if best is None or measured[0] > best.value:
                best = Closeness(expected=own, value=measured[0], details=measured[1])
        assert best is not None
        passed = best.value >= self.threshold
        if answer.altered and not passed:
            return Skip(f"the recorded content was {answer.altered}; similarity {best.value:.2f}")
        return Score(
            best.value,
            reason=f"similarity {best.value:.2f} to {shown(best.expected)}, "
            f"{'at least' if passed else 'below'} {self.threshold:g}",
            hits=[best.expected] if passed else [],
            misses=[] if passed else [best.expected],
            details=best.details,
            evidence=() if passed else answer.evidence,
        )


class _Ordered(_Closeness):
    """A similarity that looks at the order of characters or words."""

    unit: Unit = Field(default="characters", description="what is compared: characters or words")

    def closeness(self, expected: str, answer: str) -> tuple[float, Mapping[str, Any]] | Skip:
        left, right = self._items(expected), self._items(answer)
        if len(left) * len(right) > self.max_cells():
            return Skip(f"{len(left)} and {len(right)} {self.unit} are too many to compare")
        return self.measured(left, right)

    def max_cells(self) -> int:
        """The most pairs of items that are compared."""
        return MAX_CELLS

    @abstractmethod
    def measured(self, expected: Items, answer: Items) -> tuple[float, Mapping[str, Any]]:
        """The similarity, and what else is known of it."""

    def _items(self, text: str) -> Items:
        return similarity.words(text) if self.unit == "words" else text


class Levenshtein(_Ordered):
    """Edit similarity of the answer to the expected text: 1 minus the edits over the longer.

    An edit inserts, deletes or replaces a character, or a word; where `transpositions` allows
    it, two neighbors that changed places are one edit too. Skipped where no text is expected,
    where the answer was not captured, where it was truncated or redacted and is below the
    threshold, and where the texts are too long to compare.
    """

    type: ClassVar[str] = "levenshtein"
    label: ClassVar[str] = "Edit similarity"

    transpositions: Literal["none", "adjacent", "any"] = Field(
        default="none",
        description="none: two neighbors that changed places are two edits; adjacent: one, where "
        "nothing else changes there; any: one, whatever else changes",
    )

    def max_cells(self) -> int:
        return MAX_CELLS_OF_ANY if self.transpositions == "any" else MAX_CELLS

    def measured(self, expected: Items, answer: Items) -> tuple[float, Mapping[str, Any]]:
        value = EDIT_SIMILARITIES[self.transpositions](expected, answer)
        return value, {"distance": round((1 - value) * max(len(expected), len(answer)))}


class Lcs(_Ordered):
    """Longest common subsequence of the answer and the expected text: same order, gaps allowed.

    `relative_to` says by what its length is divided. Two empty texts are alike (1.0). Skipped
    where no text is expected, where the answer was not captured, where it was truncated or
    redacted and is below the threshold, and where the texts are too long to compare.
    """

    type: ClassVar[str] = "lcs"
    label: ClassVar[str] = "Longest common subsequence"

    relative_to: Literal["both", "longer", "expected"] = Field(
        default="both",
        description="both: twice the length divided by both lengths; longer: divided by the "
        "longer; expected: by the expected text, so that more text costs nothing",
    )

    def measured(self, expected: Items, answer: Items) -> tuple[float, Mapping[str, Any]]:
        value = LCS_SIMILARITIES[self.relative_to](expected, answer)
        length = similarity.lcs_length(expected, answer)
        return value, {"length": length, "distance": len(expected) + len(answer) - 2 * length}


class _Sets(_Closeness):
    """A similarity that looks at which words or characters there are, not at their order."""

    unit: Unit = Field(default="words", description="what is compared: words or characters")
    ngram: int = Field(
        default=1, ge=1, le=20, description="how many units that follow each other make one item"
    )
    repeats: bool = Field(default=False, description="whether it counts how often an item occurs")

    def closeness(self, expected: str, answer: str) -> tuple[float, Mapping[str, Any]] | Skip:
        return self.measure()(self._items(expected), self._items(answer)), {}

    @abstractmethod
    def measure(self) -> Measure:
        """The measure, of sets or where repeats count of multisets."""

    def _items(self, text: str) -> Items:
        units: Items = similarity.words(text) if self.unit == "words" else text
        return units if self.ngram == 1 else similarity.ngrams(units, self.ngram)


class Jaccard(_Sets):
    """Jaccard similarity of the answer's words and the expected text's: in both over in either.

    Words are what white space separates; with `unit: characters` and `ngram: 2` pairs of
    characters are compared. Two texts without items are alike (1.0). Skipped where no text is
    expected, where the answer was not captured, and where it was truncated or redacted and is
    below the threshold.
    """

    type: ClassVar[str] = "jaccard"
    label: ClassVar[str] = "Jaccard similarity"

    def measure(self) -> Measure:
        return similarity.multiset_jaccard if self.repeats else similarity.jaccard


class Dice(_Sets):
    """Dice similarity of the answer's words and the expected text's: the F1 of the two sets.

    Words are what white space separates; with `unit: characters` and `ngram: 2` pairs of
    characters are compared. Two texts without items are alike (1.0). Skipped where no text is
    expected, where the answer was not captured, and where it was truncated or redacted and is
    below the threshold.
    """

    type: ClassVar[str] = "dice"
    label: ClassVar[str] = "Dice similarity"

    def measure(self) -> Measure:
        return similarity.multiset_dice if self.repeats else similarity.dice


class Overlap(_Sets):
    """Overlap of the answer's words and the expected text's: in both over the smaller set.

    It is 1.0 where one text holds all words of the other, so an answer may say more than was
    expected. Two texts without items are alike (1.0). Skipped where no text is expected, where
    the answer was not captured, and where it was truncated or redacted and is below the
    threshold.
    """

    type: ClassVar[str] = "overlap"
    label: ClassVar[str] = "Overlap coefficient"

    def measure(self) -> Measure:
        return similarity.multiset_overlap if self.repeats else similarity.overlap


EDIT_SIMILARITIES: Mapping[str, Measure] = {
    "none": similarity.levenshtein,
    "adjacent": similarity.osa,
    "any": similarity.damerau_levenshtein,
}
LCS_SIMILARITIES: Mapping[str, Measure] = {
    "both": similarity.lcs_ratio,
    "longer": similarity.lcs_of_longer,
    "expected": similarity.lcs_recall,
}
