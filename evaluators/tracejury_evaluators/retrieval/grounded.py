"""The evaluator of how much of an answer stands in what the run retrieved or was told by tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Literal
from unicodedata import normalize

from pydantic import Field

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.similarity import ngrams
from tracejury.trace import Trace
from tracejury_evaluators.facts import (
    altered_output,
    counted,
    listed,
    missing_output,
    output_spans,
)

WORD = re.compile(r"[^\W_]+")
UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
MAX_SHOWN_WORDS = 20
EXCERPT_CHARS = 120

Sources = Literal["documents", "tool_outputs", "all"]


class GroundedOverlap(Evaluator):
    """The share of the answer's words that stand in retrieved documents or tool outputs.

    Words are compared without case, each once; those shorter than `min_word_chars` without a
    digit do not count, nor do those of the user's question. Text written without spaces, such as
    Chinese, is compared by pairs of characters. With `unit: sentences` it is the share of
    sentences of which at least `sentence_share` of the words stand there. It tells whether words
    come from the sources, not whether what is said of them is true. Skipped where the answer was
    not captured or has no such words, where there is no document or tool output, and where
    content was truncated or redacted and the value is below the threshold.
    """

    type: ClassVar[str] = "grounded-overlap"
    label: ClassVar[str] = "Grounded overlap"

    unit: Literal["words", "sentences"] = Field(
        default="words", description="what is counted: words or sentences"
    )
    sources: Sources = Field(
        default="all", description="documents, tool_outputs, or all: both of them"
    )
    min_word_chars: int = Field(default=4, ge=1, description="shortest word that counts")
    question_words: bool = Field(
        default=False, description="whether words of the user's question count too"
    )
    sentence_share: float = Field(
        default=0.6, gt=0, le=1, description="share of words that makes a sentence grounded"
    )
    threshold: float = Field(default=0.6, ge=0, le=1, description="value from which it passes")

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score | Skip:
        skip = missing_output(trace)
        if skip is not None:
            return skip
        texts = _source_texts(trace, self.sources)
        if not texts:
            return Skip("there is no retrieved document or tool output to compare with")
        known = {word for text in texts for word in self._words(text)}
        asked = set() if self.question_words else set(self._words(trace.input_text))
        judge = self._by_words if self.unit == "words" else self._by_sentences
        score = judge(trace, known, asked)
        altered = altered_output(trace)
        if altered and isinstance(score, Score) and score.value < self.threshold:
            return Skip(f"the recorded content was {altered}; {score.reason}")
        return score

    def _by_words(self, trace: Trace, known: set[str], asked: set[str]) -> Score | Skip:
        said = dict.fromkeys(w for w in self._words(trace.output_text) if w not in asked)
        if not said:
            return Skip("the answer has no words of its own to look for")
        unknown = [word for word in said if word not in known]
        reason = f"{len(said) - len(unknown)} of {counted(len(said), 'word')} in the sources"
        return Score(
            1 - len(unknown) / len(said),
            reason=f"{reason}; not there: {listed(unknown)}" if unknown else reason,
            misses=unknown[:MAX_SHOWN_WORDS],
            details={"words": len(said), "found": len(said) - len(unknown)},
            evidence=output_spans(trace) if unknown else [],
        )

    def _by_sentences(self, trace: Trace, known: set[str], asked: set[str]) -> Score | Skip:
        shares = dict(self._shares(trace.output_text, known, asked))
        if not shares:
            return Skip("the answer has no sentence with words of its own to look for")
        unknown = [text for text, share in shares.items() if share < self.sentence_share]
        reason = f"{len(shares) - len(unknown)} of {counted(len(shares), 'sentence')} grounded"
        excerpts = [text[:EXCERPT_CHARS] for text in unknown]
        return Score(
            1 - len(unknown) / len(shares),
            reason=f"{reason}; not grounded: {excerpts[0]!r}" if excerpts else reason,
            misses=excerpts[:MAX_SHOWN_WORDS],
            details={"sentences": len(shares), "grounded": len(shares) - len(unknown)},
            evidence=output_spans(trace) if unknown else [],
        )

    def _shares(self, text: str, known: set[str], asked: set[str]) -> Iterator[tuple[str, float]]:
        """Each sentence that has words, with the share of them that is known."""
        for sentence in SENTENCE_END.split(text):
            said = set(self._words(sentence)) - asked
            if said:
                yield sentence.strip(), len(said & known) / len(said)

    def _words(self, text: str) -> Iterator[str]:
        for run in WORD.findall(normalize("NFKC", text).casefold()):
            if UNSPACED.search(run):
                yield from (str(pair) for pair in ngrams(run, 2))
            elif len(run) >= self.min_word_chars or any(map(str.isdigit, run)):
                yield run


def _source_texts(trace: Trace, sources: Sources) -> list[str]:
    """The texts that an answer may be made of, blank ones left out."""
    texts: list[str] = []
    if sources != "tool_outputs":
        texts += [document.content for document in trace.documents]
    if sources != "documents":
        texts += [call.output_text for call in trace.tool_calls]
    return [text for text in texts if text.strip()]
