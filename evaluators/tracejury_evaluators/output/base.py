"""What evaluators of an answer's text share: which answers they judge, and how texts compare."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, Generic, Literal
from unicodedata import normalize

from pydantic import Field

from tracejury.evaluator import Criteria, Evaluator
from tracejury.evaluator.base import C
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import ONLY_FINAL, Answer, judged_answers

Judge = Callable[[Answer], Score | Skip]
UnicodeForm = Literal["NFC", "NFKC", "none"]
Expected = str | list[str]

NO_EXPECTED = Skip("no expected text is given, neither in the config nor in the criteria")
NAMES_OF_EXPECTED: Mapping[str, str] = {
    "expected_output": "expected",
    "expectedOutput": "expected",
    "reference": "expected",
    "search_text": "expected",
    "searchText": "expected",
    "value": "expected",
}
MAX_SHOWN_CHARS = 80
WHITE_SPACE = re.compile(r"\s+")


class TextEvaluator(Evaluator[C], Generic[C]):
    """Judges the final answer, or with `only_final: false` the answer of every turn."""

    only_final: bool = Field(default=True, description=ONLY_FINAL)

    def evaluate(self, trace: Trace, criteria: C) -> Score | Skip:
        judge = self.judge_for(criteria)
        if isinstance(judge, Skip):
            return judge
        return judged_answers(trace, judge, only_final=self.only_final)

    @abstractmethod
    def judge_for(self, criteria: C) -> Judge | Skip:
        """The judge of one answer under a case's criteria, or why there is nothing to judge."""


class ComparingEvaluator(TextEvaluator[C], Generic[C]):
    """Compares an answer with expected texts, both brought into one form first."""

    case_sensitive: bool = Field(default=True, description="whether case counts")
    strip: bool = Field(
        default=True, description="whether white space at the ends of both texts is left out"
    )
    collapse_whitespace: bool = Field(
        default=False, description="whether any run of white space counts as one space"
    )
    unicode_form: UnicodeForm = Field(
        default="NFC",
        description="NFC: letters composed or decomposed are the same; "
        "NFKC: so are wide, ligature and other compatible forms; none: compared as they are",
    )

    def normalized(self, text: str) -> str:
        """The text in the form in which texts are compared."""
        text = self._composed(text)
        if not self.case_sensitive:
            text = self._composed(text.casefold())
        if self.collapse_whitespace:
            text = WHITE_SPACE.sub(" ", text)
        return text.strip() if self.strip else text

    def _composed(self, text: str) -> str:
        return text if self.unicode_form == "none" else normalize(self.unicode_form, text)


class ExpectedText(Criteria):
    """What one case expects the answer to say."""

    aliases: ClassVar[Mapping[str, str]] = NAMES_OF_EXPECTED

    expected: Expected | None = Field(default=None, description="text, or texts, expected")


def texts_of(own: Expected | None, default: Expected | None) -> list[str] | None:
    """The texts expected of a case: its own, else the config's; None where neither names any."""
    given = default if own is None else own
    return [given] if isinstance(given, str) else given


def shown(text: str) -> str:
    """A text quoted for a sentence, cut where it is long."""
    return repr(text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 1]}…")
