"""What a judge must answer, as models that its answer is validated by."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tracejury.result import Verdict

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Ruling(BaseModel):
    """Your judgement of the material."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    reasoning: str = Field(description="why, in one to three sentences")
    hits: list[str] = Field(default=[], description="what was done right, one short line each")
    misses: list[str] = Field(default=[], description="what is wrong or missing, one line each")
    score: Share = Field(description="from 0 (entirely wrong) to 1 (entirely right)")
    verdict: Verdict = Field(description="pass, partial or fail; it must agree with the score")

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if (self.verdict, self.score) in (("pass", 0.0), ("fail", 1.0)):
            raise ValueError(
                f"verdict {self.verdict} and score {self.score:g} contradict each other"
            )
        return self


class CriteriaRuling(Ruling):
    """Your judgement of the material by success and failure criteria."""

    failure_met: bool = Field(description="whether the failure criteria hold")
    failed_turns: list[int] = Field(
        default=[], description="numbers of the turns at which the failure criteria hold"
    )


class ItemRuling(BaseModel):
    """Your judgement of one item of the rubric."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    item: str = Field(description="the item's id, exactly as given")
    reasoning: str = Field(default="", description="why, in one sentence")
    score: Share = Field(description="from 0 (not met at all) to 1 (entirely met)")


class RubricRuling(BaseModel):
    """Your judgement of every item of the rubric."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    items: list[ItemRuling] = Field(description="every item of the rubric, once each")
    reasoning: str = Field(description="the whole in one or two sentences")


AnswerType = type[BaseModel]
