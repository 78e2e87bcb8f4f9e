"""Evaluators of whether there is an answer, and how long it is."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, model_validator

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import Answer, counted, missing_output, output_spans
from tracejury_evaluators.output.base import Judge, TextEvaluator


class NonEmptyOutput(Evaluator):
    """Passes if the agent gave an answer that is not blank.

    Skipped where an answer may exist and not be seen: content that was not captured or was
    redacted, or output tokens of which nothing was recorded; and where none is due: a bare
    model call that asked for a tool, and traces that are no run of an agent or a model.
    """

    type: ClassVar[str] = "non-empty-output"
    label: ClassVar[str] = "Non-empty output"

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score | Skip:
        skip = missing_output(trace)
        if skip is not None:
            return skip
        characters = len(trace.output_text.strip())
        if characters:
            reason = f"the output has {characters} characters"
            return Score(1.0, reason=reason, details={"characters": characters})
        return Score(0.0, reason="the output is empty", evidence=output_spans(trace))


class WordCountCriteria(Criteria):
    """The limits of one case."""

    min_words: int | None = Field(default=None, ge=0, description="fewest words that pass")
    max_words: int | None = Field(default=None, ge=0, description="most words that pass")


class WordCount(TextEvaluator[WordCountCriteria]):
    """Passes if the answer has at least `min_words` and at most `max_words` words.

    Words are what white space separates. Below the minimum the value is the share of it that
    was reached, above the maximum the maximum divided by the count. Skipped where no limit is
    given, where the answer was not captured, and where it was truncated or redacted and more
    words could change the verdict.
    """

    type: ClassVar[str] = "word-count"
    label: ClassVar[str] = "Word count"

    min_words: int | None = Field(default=None, ge=0, description="fewest words that pass")
    max_words: int | None = Field(default=None, ge=0, description="most words that pass")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        _check_order(self.min_words, self.max_words)
        return self

    def judge_for(self, criteria: WordCountCriteria) -> Judge | Skip:
        fewest = self.min_words if criteria.min_words is None else criteria.min_words
        most = self.max_words if criteria.max_words is None else criteria.max_words
        if fewest is None and most is None:
            return Skip("no min_words or max_words is given, neither in config nor in criteria")
        _check_order(fewest, most)
        return lambda answer: _word_count(answer, fewest or 0, most)


def _check_order(fewest: int | None, most: int | None) -> None:
    if fewest is not None and most is not None and fewest > most:
        raise ValueError(f"min_words {fewest} is above max_words {most}; nothing can pass")


def _word_count(answer: Answer, fewest: int, most: int | None) -> Score | Skip:
    words = len(answer.text.split())
    too_few, too_many = words < fewest, most is not None and words > most
    if answer.altered and (too_few or (most is not None and not too_many)):
        return Skip(f"the recorded content was {answer.altered}, and has {words} words")
    observation = counted(words, "word")
    if too_few:
        observation += f", fewer than {fewest}"
    elif too_many:
        observation += f", more than {most}"
    return Score(
        words / fewest if too_few else (most or 0) / words if too_many else 1.0,
        "fail" if too_few or too_many else "pass",
        f"the output has {observation}",
        misses=[observation] if too_few or too_many else [],
        details={"words": words, "min_words": fewest, "max_words": most},
        evidence=answer.evidence if too_few or too_many else (),
    )
