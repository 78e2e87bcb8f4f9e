"""UiPath's base class of evaluators."""

from __future__ import annotations

import functools
import inspect
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, model_validator

from tracejury.evaluator import Evaluator
from tracejury_evaluators.adapters.lacking import NotRecorded
from tracejury_evaluators.adapters.uipath.definition import (
    check_types,
    config_type,
    criteria_type,
    justification_schema,
    justification_type,
)
from tracejury_evaluators.adapters.uipath.models import (
    AgentExecution,
    BaseEvaluationCriteria,
    BaseEvaluationResult,
    BaseEvaluatorConfig,
    BaseEvaluatorJustification,
    ErrorEvaluationResult,
    EvaluationResult,
)
from tracejury_evaluators.adapters.uipath.native import evaluator_class

T = TypeVar("T", bound=BaseEvaluationCriteria)
C = TypeVar("C", bound=BaseEvaluatorConfig[Any])
J = TypeVar("J", bound=str | BaseEvaluatorJustification | None)

_SET_BELOW: Any = None  # what `_with_types` sets for every evaluator
Evaluate = Callable[..., Awaitable[EvaluationResult]]


class BaseEvaluator(BaseModel, ABC, Generic[T, C, J]):
    """Subclass `BaseEvaluator[Criteria, Config, Justification]`; write evaluate, get_evaluator_id.

    `evaluator_config` is the config, validated. `evaluate` is timed, and what it raises becomes
    an ErrorEvaluationResult.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, populate_by_name=True)

    id: str = ""
    version: str = "1.0"
    name: str = ""
    description: str = ""
    evaluator_type_id: str = Field(default="", alias="evaluatorTypeId")
    config: Any = Field(default=None, exclude=True, repr=False)
    evaluator_config: C = Field(default=_SET_BELOW, alias="evaluatorConfig")
    evaluation_criteria_type: SkipValidation[type[T]] = Field(default=_SET_BELOW, exclude=True)
    justification_type: SkipValidation[type[J]] = Field(default=_SET_BELOW, exclude=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Guard the evaluate method that the class defines."""
        super().__pydantic_init_subclass__(**kwargs)
        own = vars(cls).get("evaluate")
        if inspect.isfunction(own) and not getattr(own, "__isabstractmethod__", False):
            setattr(cls, "evaluate", _guarded(own))  # noqa: B010 - it is a method

    @model_validator(mode="before")
    @classmethod
    def _with_types(cls, given: Any) -> Any:
        """Set the types that the class names; take the config under any of its names."""
        if not isinstance(given, Mapping):
            return given
        check_types(cls)
        fields = dict(given)
        config: Any = {}
        for name in ("evaluator_config", "evaluatorConfig", "config"):
            config = fields.pop(name, None) or config
        if isinstance(config, Mapping):
            told = {key: fields[key] for key in ("name", "description") if fields.get(key)}
            config = {**told, **config}
        if isinstance(config, BaseModel) and not isinstance(config, config_type(cls)):
            config = config.model_dump()
        types = {
            "evaluation_criteria_type": criteria_type(cls),
            "justification_type": justification_type(cls),
        }
        return {**fields, **types, "evaluator_config": config}

    def model_post_init(self, _context: Any, /) -> None:
        """Name the evaluator as its config does."""
        self.evaluator_type_id = self.evaluator_type_id or type(self).get_evaluator_id()
        self.name = self.name or self.evaluator_config.name
        self.description = self.description or self.evaluator_config.description

    @abstractmethod
    async def evaluate(
        self, agent_execution: AgentExecution, evaluation_criteria: T
    ) -> EvaluationResult:
        """Judge the execution."""

    @classmethod
    @abstractmethod
    def get_evaluator_id(cls) -> str:
        """The id of this kind of evaluator; it becomes the type of ours."""

    def validate_evaluation_criteria(self, criteria: Any) -> T:
        """The criteria as the evaluator takes them.

        Raises: ValidationError where they do not fit.
        """
        kind = criteria_type(type(self))
        given = criteria.model_dump() if isinstance(criteria, BaseModel) else criteria
        taken: Any = criteria if isinstance(criteria, kind) else kind.model_validate(given)
        found: T = taken
        return found

    async def validate_and_evaluate_criteria(
        self, agent_execution: AgentExecution, evaluation_criteria: Any
    ) -> EvaluationResult:
        """Judge by criteria as data; by those of the config where there are none.

        Raises: ValueError where there are neither.
        """
        given = evaluation_criteria
        if given is None:
            given = self.evaluator_config.default_evaluation_criteria
        if given is None:
            raise ValueError("no evaluation criteria are given, and the config has no default")
        return await self.evaluate(agent_execution, self.validate_evaluation_criteria(given))

    @classmethod
    def get_evaluation_criteria_schema(cls) -> dict[str, Any]:
        """The JSON Schema of the criteria."""
        return criteria_type(cls).model_json_schema(by_alias=False)

    @classmethod
    def get_config_schema(cls) -> dict[str, Any]:
        """The JSON Schema of the config."""
        return config_type(cls).model_json_schema(by_alias=False)

    @classmethod
    def get_justification_schema(cls) -> dict[str, Any]:
        """The JSON Schema of what explains a result."""
        return justification_schema(cls)

    @classmethod
    def generate_json_type(cls) -> dict[str, Any]:
        """The type as its file in `evals/evaluators/custom/types` describes it."""
        return {
            "evaluatorTypeId": cls.get_evaluator_id(),
            "evaluatorConfigSchema": cls.get_config_schema(),
            "evaluationCriteriaSchema": cls.get_evaluation_criteria_schema(),
            "justificationSchema": cls.get_justification_schema(),
        }

    @classmethod
    def __tracejury_evaluator__(cls) -> type[Evaluator[Any]]:
        """The evaluator of ours that stands for this class; its type is the evaluator's id.

        Raises: DefinitionError where the class can never work.
        """
        return evaluator_class(cls)


def _guarded(evaluate: Evaluate) -> Evaluate:
    """The method, timed; what it raises becomes an error result."""

    @functools.wraps(evaluate)
    async def guarded(*args: Any, **kwargs: Any) -> EvaluationResult:
        start = time.monotonic()
        try:
            found: Any = evaluate(*args, **kwargs)
            result = await found if inspect.isawaitable(found) else found
        except NotRecorded:
            raise
        except Exception as error:  # noqa: BLE001 - evaluators may raise anything
            result = _broken(error)
        if isinstance(result, BaseEvaluationResult):
            result.evaluation_time = time.monotonic() - start
        answer: EvaluationResult = result
        return answer

    return guarded


def _broken(error: Exception) -> ErrorEvaluationResult:
    return ErrorEvaluationResult(
        error=str(error) or repr(error),
        error_type=type(error).__name__,
        details=f"Exception thrown by evaluator: {error}",
        traceback="".join(traceback.format_exception(error)),
    )
