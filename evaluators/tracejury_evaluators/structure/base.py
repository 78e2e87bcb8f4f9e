"""What evaluators of JSON answers share: which answers they judge, and how those are read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic

from pydantic import Field

from tracejury.evaluator import Evaluator
from tracejury.evaluator.base import C
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import ONLY_FINAL, Answer, judged_answers
from tracejury_evaluators.json_text import parse, unfenced

MAX_MISSES = 20
JudgeData = Callable[[Any], Score | Skip]
"""Judges the data of one answer; a score has a verdict."""


class JsonEvaluator(Evaluator[C], Generic[C]):
    """Judges the JSON of the final answer, or with `only_final: false` of every turn's answer."""

    only_final: bool = Field(default=True, description=ONLY_FINAL)
    code_fence: bool = Field(
        default=False,
        description="true: JSON in a code fence is taken out of it, whatever stands around it",
    )

    def evaluate(self, trace: Trace, criteria: C) -> Score | Skip:
        judge = self.judge_for(criteria)
        if isinstance(judge, Skip):
            return judge
        return judged_answers(
            trace, lambda answer: self._judged(answer, judge), only_final=self.only_final
        )

    @abstractmethod
    def judge_for(self, criteria: C) -> JudgeData | Skip:
        """The judge of an answer's data under a case's criteria, or why there is none."""

    def read(self, text: str) -> Any:
        """The data in a text. Raises: ValueError where it holds no JSON."""
        return parse(text)

    def _judged(self, answer: Answer, judge: JudgeData) -> Score | Skip:
        try:
            data = self.read(unfenced(answer.text) if self.code_fence else answer.text)
        except ValueError as error:
            told = f"the output is no JSON: {error}"
            score: Score | Skip = Score(0.0, "fail", told, misses=[told])
        else:
            score = judge(data)
        if isinstance(score, Skip) or score.verdict == "pass":
            return score
        if answer.altered:
            return Skip(f"the recorded content was {answer.altered}: {score.reason}")
        return replace(score, evidence=answer.evidence)
