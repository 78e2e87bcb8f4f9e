"""The evaluator that finds terms that must not be used."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal
from unicodedata import normalize

import re2
from pydantic import AfterValidator, Field, StringConstraints

from tracejury.evaluator import Criteria
from tracejury.result import Skip
from tracejury.trace import Trace
from tracejury_evaluators.patterns import compiled, encoded
from tracejury_evaluators.safety.passages import WHERE, Place
from tracejury_evaluators.safety.scan import Finder, Hit, Scan, candidates

MAX_TERMS = 2_000
MAX_TERM_CHARS = 200
INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200d\u2060-\u2064\ufeff]")
UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
NO_WORD = r"[^\p{L}\p{N}\p{M}_]"


def _not_blank(term: str) -> str:
    if not INVISIBLE.sub("", term).strip():
        raise ValueError("a term is blank; leave it out")
    return term


Term = Annotated[str, StringConstraints(max_length=MAX_TERM_CHARS), AfterValidator(_not_blank)]


class Terms(Criteria):
    """The terms that one case bans."""

    terms: list[Term] | None = Field(
        default=None, max_length=MAX_TERMS, description="terms that must not be used"
    )


class BannedTerms(Scan[Terms]):
    """Passes if none of the terms is used where it looks.

    Terms are whole words unless told otherwise, so `art` is not found in `start`; in scripts
    that write no spaces, such as Chinese, a term may stand anywhere. Case does not count, nor do
    wide and other compatible forms of letters, invisible characters, or how much white space
    stands between the words of a term. A case's terms replace those of the config. Skipped where
    no terms are given, where there is nothing to look at, and where nothing was found but
    something was not captured, truncated or redacted.
    """

    type: ClassVar[str] = "banned-terms"
    label: ClassVar[str] = "Banned terms"

    terms: list[Term] | None = Field(
        default=None, max_length=MAX_TERMS, description="terms that must not be used"
    )
    where: list[Place] = Field(default=["output"], min_length=1, description=WHERE)
    whole_words: bool = Field(default=True, description="whether a term must be a word of its own")
    case_sensitive: bool = Field(default=False, description="whether case counts")
    unicode_form: Literal["NFC", "NFKC"] = Field(
        default="NFKC",
        description="NFKC: wide, ligature and other compatible forms are the same; NFC: only "
        "letters composed or decomposed are",
    )

    @cached_property
    def _own(self) -> Sequence[Any]:
        return self._expressions(self.terms or [])

    def places(self) -> Sequence[Place]:
        return self.where

    def finder(self, _trace: Trace, criteria: Terms) -> Finder | Skip:
        if not (self.terms if criteria.terms is None else criteria.terms):
            return Skip("no terms are given, neither in the config nor in the criteria")
        own = criteria.terms is None
        expressions = self._own if own else self._expressions(criteria.terms or [])
        return lambda text: self._found(text, expressions)

    def _found(self, text: str, expressions: Sequence[Any]) -> Iterator[Hit]:
        data = encoded(self._normalized(text))
        told: set[str] = set()
        for expression in expressions:
            for term in candidates(expression, data):
                if term not in told:
                    told.add(term)
                    yield Hit(kind="banned term", shown=repr(term))

    def _normalized(self, text: str) -> str:
        text = INVISIBLE.sub("", normalize(self.unicode_form, text))
        if not self.case_sensitive:
            text = normalize(self.unicode_form, text.casefold())
        return " ".join(text.split())

    def _expressions(self, terms: Sequence[str]) -> Sequence[Any]:
        """One pattern for all terms that end and begin alike: at a word, or anywhere."""
        groups: Mapping[tuple[str, str], list[str]] = defaultdict(list)
        for term in sorted({self._normalized(term) for term in terms}, key=len, reverse=True):
            start = f"(?:^|{NO_WORD})" if self._is_word(term[0]) else ""
            end = f"(?:$|{NO_WORD})" if self._is_word(term[-1]) else ""
            groups[start, end].append(re2.escape(term))
        return [compiled(f"{start}({'|'.join(own)}){end}") for (start, end), own in groups.items()]

    def _is_word(self, edge: str) -> bool:
        return self.whole_words and edge.isalnum() and UNSPACED.match(edge) is None
