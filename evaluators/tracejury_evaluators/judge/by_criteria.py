"""`llm-judge`: success and failure criteria in words, or an expected outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, Field

from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import missing_output
from tracejury_evaluators.judge.base import LLMEvaluator
from tracejury_evaluators.judge.criteria import JudgeCriteria, Text
from tracejury_evaluators.judge.reasons import not_given
from tracejury_evaluators.judge.rulings import AnswerType, CriteriaRuling, Ruling
from tracejury_evaluators.judge.templates import Template, built_in_template, parse_template
from tracejury_evaluators.judge.variables import known_variables
from tracejury_evaluators.judge.votes import Opinion

WHEN = "failure_criteria hold: every_turn (at any turn), or final (at the end alone)"
YARDSTICKS = ("success_criteria", "failure_criteria", "expected_outcome", "reference_answer")


def _mode(value: object) -> object:
    return "final" if value == "on_max_messages" else value


Mode = Annotated[Literal["every_turn", "final"], BeforeValidator(_mode)]


class CriteriaOfCase(JudgeCriteria):
    """The success and failure criteria of one case."""

    success_criteria: Text | None = Field(default=None, description="what must hold, in words")
    failure_criteria: Text | None = Field(default=None, description="what must not hold, in words")
    failure_criteria_mode: Mode | None = Field(default=None, description=f"when the {WHEN}")


class LLMJudge(LLMEvaluator[CriteriaOfCase]):
    """Asks a model whether success criteria are met and failure criteria are not.

    Without either, the answer is graded by how well it achieves the expected outcome, with the
    reference answer as an example of a good one. Failure criteria that hold make it fail with
    0, whatever the score; `every_turn` looks for them at each turn, `final` at the end alone.
    Skipped where nothing is given to judge by, and where the answer was not captured.
    """

    type: ClassVar[str] = "llm-judge"
    label: ClassVar[str] = "LLM judge"
    default_template: ClassVar[str] = "expected-outcome"

    success_criteria: Text | None = Field(default=None, description="what must hold, in words")
    failure_criteria: Text | None = Field(default=None, description="what must not hold, in words")
    failure_criteria_mode: Mode = Field(default="final", description=f"when the {WHEN}")
    expected_outcome: Text | None = Field(
        default=None, description="what the answer should accomplish"
    )

    @cached_property
    def _criteria_template(self) -> Template:
        return parse_template(built_in_template("criteria"), known_variables())

    def _prompts(self) -> Sequence[str]:
        return (*super()._prompts(), "criteria", "failure-every-turn", "failure-final")

    def _template_for(self, case: Mapping[str, str]) -> Template:
        by_criteria = case.get("success_criteria") or case.get("failure_criteria")
        return self._criteria_template if by_criteria and self.template is None else self._template

    def _case(self, criteria: CriteriaOfCase) -> dict[str, str]:
        own = (
            ("success_criteria", self.success_criteria),
            ("failure_criteria", self.failure_criteria),
            ("expected_outcome", self.expected_outcome),
        )
        given = {name: text.strip() for name, text in own if text and text.strip()}
        return given | super()._case(criteria)

    def _without_asking(
        self, trace: Trace, _criteria: CriteriaOfCase, case: Mapping[str, str]
    ) -> Skip | Score | None:
        if self.template is None:
            skip = not_given(case, *YARDSTICKS)
            if skip is not None:
                return skip
        return missing_output(trace)

    def _always_told(self, case: Mapping[str, str]) -> list[str]:
        told = [name for name in ("success_criteria", "failure_criteria") if case.get(name)]
        return [*super()._always_told(case), *told]

    def _extra_rules(self, criteria: CriteriaOfCase, case: Mapping[str, str]) -> str:
        if not case.get("failure_criteria"):
            return ""
        return built_in_template(f"failure-{self._when(criteria).replace('_', '-')}").strip()

    def _answer_type(self, _criteria: CriteriaOfCase, case: Mapping[str, str]) -> AnswerType:
        return CriteriaRuling if case.get("failure_criteria") else Ruling

    def _problem(self, answer: BaseModel, trace: Trace, criteria: CriteriaOfCase) -> str:
        if not isinstance(answer, CriteriaRuling) or self._when(criteria) == "final":
            return ""
        last = max(1, len(trace.turns))
        wrong = [number for number in answer.failed_turns if not 1 <= number <= last]
        if wrong:
            return f"failed_turns holds {wrong}, but the turns are 1 to {last}"
        if answer.failure_met != bool(answer.failed_turns):
            return "failure_met and failed_turns contradict each other"
        return ""

    def _opinion(self, answer: BaseModel, trace: Trace, criteria: CriteriaOfCase) -> Opinion:
        opinion = super()._opinion(answer, trace, criteria)
        if not isinstance(answer, CriteriaRuling) or not answer.failure_met:
            return opinion
        turns = sorted(set(answer.failed_turns)) if self._when(criteria) == "every_turn" else []
        spans = [trace.turns[n - 1].span_id for n in turns if n <= len(trace.turns)]
        return Opinion(
            value=0.0,
            verdict="fail",
            reason=f"the failure criteria hold: {opinion.reason}",
            hits=opinion.hits,
            misses=opinion.misses or ["the failure criteria hold"],
            details={"failed_turns": turns} if turns else {},
            evidence=[span for span in spans if span],
        )

    def _when(self, criteria: CriteriaOfCase) -> str:
        return criteria.failure_criteria_mode or self.failure_criteria_mode
