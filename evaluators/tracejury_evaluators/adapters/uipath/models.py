"""UiPath's models: what its evaluators are given, and what they answer.

Source: uipath 2.14.44.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SkipValidation
from pydantic.alias_generators import to_camel

from tracejury_evaluators.adapters.lacking import MayLack


class BaseEvaluationCriteria(BaseModel):
    """What varies per case; fields are taken in snake_case and camelCase."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


T = TypeVar("T", bound=BaseEvaluationCriteria)


class BaseEvaluatorConfig(BaseModel, Generic[T]):
    """How an evaluator works; fields are taken in snake_case and camelCase."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    name: str = Field(default="", description="name of the evaluator")
    description: str = Field(default="", description="what the evaluator is about")
    default_evaluation_criteria: T | None = Field(
        default=None, description="criteria of cases that give none"
    )


class BaseEvaluatorJustification(BaseModel):
    """Why a result is as it is."""

    expected: str
    actual: str


class AgentExecution(MayLack):
    """What an agent was given, what it gave, and the spans of what it did in between."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    agent_input: dict[str, Any] | None = None
    agent_output: dict[str, Any] | str = Field(default_factory=dict)
    agent_trace: SkipValidation[Sequence[Any]] = ()
    expected_agent_behavior: str | None = None
    simulation_instructions: str = ""

    @property
    def workload_output(self) -> dict[str, Any] | str:
        """The output, under the name that later versions of UiPath have for it."""
        return self.agent_output

    @property
    def workload_trace(self) -> Sequence[Any]:
        """The spans, under the name that later versions of UiPath have for them."""
        return self.agent_trace


class ScoreType(IntEnum):
    """The kind of a result."""

    BOOLEAN = 0
    NUMERICAL = 1
    ERROR = 2


class BaseEvaluationResult(BaseModel):
    """What all results have; `evaluation_time` is in seconds, set where the evaluator is run."""

    details: str | SkipValidation[BaseModel] | Mapping[str, Any] | None = None
    evaluation_time: float | None = None


class BooleanEvaluationResult(BaseEvaluationResult):
    """Passed or not."""

    score: bool
    score_type: Literal[ScoreType.BOOLEAN] = ScoreType.BOOLEAN


class NumericEvaluationResult(BaseEvaluationResult):
    """How well it was done, from 0 to 1."""

    score: float
    score_type: Literal[ScoreType.NUMERICAL] = ScoreType.NUMERICAL


class ErrorEvaluationResult(BaseEvaluationResult):
    """No result, because the evaluator broke; `error` says why."""

    score: float = 0.0
    score_type: Literal[ScoreType.ERROR] = ScoreType.ERROR
    error: str = ""
    error_type: str = "EvaluationError"
    traceback: str = ""


EvaluationResult = BooleanEvaluationResult | NumericEvaluationResult | ErrorEvaluationResult


class ToolCall(BaseModel):
    """A tool call: its name, its arguments, and its id where one was recorded."""

    name: str
    args: dict[str, Any] = Field(default_factory=dict)
    id: str | None = None


class ToolOutput(BaseModel):
    """What a tool gave back, as text."""

    name: str
    output: str = ""
    id: str | None = None
