"""`llm-rubric`: weighted items, each scored by a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from tracejury.bounds import clip
from tracejury.result import Score, Skip, default_verdict
from tracejury.trace import Trace
from tracejury_evaluators.facts import listed, missing_output
from tracejury_evaluators.judge.base import LLMEvaluator
from tracejury_evaluators.judge.criteria import JudgeCriteria
from tracejury_evaluators.judge.rulings import AnswerType, RubricRuling
from tracejury_evaluators.judge.variables import as_text
from tracejury_evaluators.judge.votes import MAX_REASONING_CHARS, Opinion

MAX_ITEMS = 50


class RubricItem(BaseModel):
    """One thing to look at; `weight` is its share beside the others', `required` can fail all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(default="", max_length=100, description="name of the item; else item-1, …")
    description: str = Field(min_length=1, max_length=5_000, description="what is looked at")
    weight: float = Field(default=1.0, gt=0, le=1_000, description="weight in the mean")
    required: bool = Field(default=False, description="true: below the threshold, all fails")


def _numbered(items: Any) -> Any:
    """Items given as texts, with ids for those that have none."""
    if not isinstance(items, list):
        return items
    whole = [{"description": item} if isinstance(item, str) else item for item in items]
    return [
        {**item, "id": item.get("id") or f"item-{number}"} if isinstance(item, dict) else item
        for number, item in enumerate(whole, 1)
    ]


def _distinct(items: list[RubricItem]) -> list[RubricItem]:
    ids = [item.id for item in items]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise ValueError(f"the rubric names {listed(twice)} more than once; give each item its id")
    return items


Rubric = Annotated[
    list[RubricItem],
    Field(max_length=MAX_ITEMS),
    BeforeValidator(_numbered),
    AfterValidator(_distinct),
]


class RubricOfCase(JudgeCriteria):
    """The rubric of one case."""

    rubric: Rubric | None = Field(default=None, description="items: texts, or id and description")


class LLMRubric(LLMEvaluator[RubricOfCase]):
    """Asks a model to score every item of a rubric; the value is their weighted mean.

    An item below the threshold is a miss; a required one makes the whole fail. The verdict
    follows from the mean. Skipped where there is no rubric, and where the answer was not
    captured.
    """

    type: ClassVar[str] = "llm-rubric"
    label: ClassVar[str] = "LLM rubric"
    default_template: ClassVar[str] = "rubric"
    aliases: ClassVar[Mapping[str, str]] = {**LLMEvaluator.aliases, "rubrics": "rubric"}

    rubric: Rubric = Field(default=[], description="items: texts, or id, description and weight")
    threshold: float = Field(default=0.7, ge=0, le=1, description="mean that passes")

    def _items(self, criteria: RubricOfCase) -> Sequence[RubricItem]:
        return self.rubric if criteria.rubric is None else criteria.rubric

    def _without_asking(
        self, trace: Trace, criteria: RubricOfCase, _case: Mapping[str, str]
    ) -> Skip | Score | None:
        if not self._items(criteria):
            return Skip("no rubric is given, neither in the config nor in the criteria")
        return missing_output(trace)

    def _case(self, criteria: RubricOfCase) -> dict[str, str]:
        items = [{"id": item.id, "description": item.description} for item in self._items(criteria)]
        return super()._case(criteria) | {"rubric": as_text(items)}

    def _always_told(self, case: Mapping[str, str]) -> list[str]:
        return [*super()._always_told(case), "rubric"]

    def _answer_type(self, _criteria: RubricOfCase, _case: Mapping[str, str]) -> AnswerType:
        return RubricRuling

    def _problem(self, answer: BaseModel, _trace: Trace, criteria: RubricOfCase) -> str:
        assert isinstance(answer, RubricRuling)
        wanted = sorted(item.id for item in self._items(criteria))
        given = sorted(item.item for item in answer.items)
        return "" if given == wanted else f"rule on each of these items once: {listed(wanted, 50)}"

    def _opinion(self, answer: BaseModel, _trace: Trace, criteria: RubricOfCase) -> Opinion:
        assert isinstance(answer, RubricRuling)
        ruled = {item.item: item for item in answer.items}
        items = self._items(criteria)
        weight = sum(item.weight for item in items)
        value = sum(item.weight * ruled[item.id].score for item in items) / weight
        low = [item for item in items if ruled[item.id].score < self.threshold]
        lost = [item.id for item in low if item.required]
        return Opinion(
            value=value,
            verdict="fail" if lost else default_verdict(value, self.threshold),
            reason=f"{listed(lost)} is required; {answer.reasoning}" if lost else answer.reasoning,
            hits=[_line(item, ruled[item.id].score) for item in items if item not in low],
            misses=[_line(item, ruled[item.id].score) for item in low],
            details={
                "items": [
                    {"id": item.id, "weight": item.weight}
                    | {"score": ruled[item.id].score}
                    | {"reasoning": clip(ruled[item.id].reasoning, MAX_REASONING_CHARS)}
                    for item in items
                ]
            },
        )


def _line(item: RubricItem, score: float) -> str:
    return f"{item.id} ({score:g}): {item.description[:200]}"
