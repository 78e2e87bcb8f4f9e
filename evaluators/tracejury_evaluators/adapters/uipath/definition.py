"""Checks of a class written for UiPath, each failing with one sentence and its remedy."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel

from tracejury.errors import DefinitionError
from tracejury_evaluators.adapters.uipath.models import (
    BaseEvaluationCriteria,
    BaseEvaluatorConfig,
    BaseEvaluatorJustification,
)

_NAMED = "class {name}(BaseEvaluator[MyCriteria, MyConfig, str])"


def check_definition(evaluator: type[BaseModel]) -> None:
    """Check that the class names types that fit together, and has what it must have.

    Raises: DefinitionError where it can never work.
    """
    check_types(evaluator)
    missing: frozenset[str] = getattr(evaluator, "__abstractmethods__", frozenset())
    if "evaluate" in missing:
        raise DefinitionError(
            f"{place(evaluator)} has no evaluate method: add "
            "`async def evaluate(self, agent_execution, evaluation_criteria)`"
        )
    if missing:
        raise DefinitionError(
            f"{place(evaluator)}: error getting evaluator ID: it has no get_evaluator_id; add "
            f"`@classmethod` and `def get_evaluator_id(cls) -> str: return {evaluator.__name__!r}`"
        )


def check_types(evaluator: type[BaseModel]) -> None:
    """Check that criteria, config and justification are what they should be, and agree.

    Raises: DefinitionError where they do not.
    """
    criteria, config = criteria_type(evaluator), config_type(evaluator)
    taken = _criteria_of_config(config)
    if taken is not None and not issubclass(taken, criteria):
        raise DefinitionError(
            f"{place(evaluator)}: type inconsistency in evaluator: config {config.__name__} "
            f"expects criteria type {taken.__name__}, the evaluator {criteria.__name__}; write "
            f"`class {config.__name__}(BaseEvaluatorConfig[{criteria.__name__}])`"
        )
    justification = justification_type(evaluator)
    bases = (str, type(None), BaseEvaluatorJustification)
    if not isinstance(justification, type) or not issubclass(justification, bases):
        raise DefinitionError(
            f"{place(evaluator)}: {_shown(justification)} is no justification type; use str, "
            "type(None) or a subclass of BaseEvaluatorJustification"
        )


def criteria_type(evaluator: type[BaseModel]) -> type[BaseEvaluationCriteria]:
    """The criteria that the class names.

    Raises: DefinitionError where it names none.
    """
    found = _argument(evaluator, "evaluation_criteria_type")
    if isinstance(found, type) and issubclass(found, BaseEvaluationCriteria):
        return found
    raise DefinitionError(
        f"{place(evaluator)}: {_shown(found)} is no criteria type; write "
        f"`{_NAMED.format(name=evaluator.__name__)}` with a subclass of BaseEvaluationCriteria"
    )


def config_type(evaluator: type[BaseModel]) -> type[BaseEvaluatorConfig[Any]]:
    """The config that the class names.

    Raises: DefinitionError where it names none.
    """
    found = evaluator.model_fields["evaluator_config"].annotation
    if isinstance(found, type) and issubclass(found, BaseEvaluatorConfig):
        return found
    raise DefinitionError(
        f"{place(evaluator)}: {_shown(found)} is no config type; write "
        f"`{_NAMED.format(name=evaluator.__name__)}` with a subclass of BaseEvaluatorConfig"
    )


def justification_type(evaluator: type[BaseModel]) -> object:
    """What the class names to explain its results."""
    return _argument(evaluator, "justification_type")


def justification_schema(evaluator: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of what explains a result."""
    found = justification_type(evaluator)
    if isinstance(found, type) and issubclass(found, BaseModel):
        return found.model_json_schema(by_alias=False)
    return {"type": "string"} if found is str else {"type": "null"}


def place(source: type[Any]) -> str:
    """Where a class is defined, as it stands at the start of a message."""
    return f"{source.__module__}.{source.__qualname__}"


def _argument(evaluator: type[BaseModel], field: str) -> object:
    """The class that stands for a type parameter, in the annotation `type[...]` of a field."""
    arguments = get_args(evaluator.model_fields[field].annotation)
    return arguments[0] if arguments else None


def _criteria_of_config(config: type[BaseEvaluatorConfig[Any]]) -> type[Any] | None:
    """The criteria that a config is for; None where it leaves that open."""
    annotation = config.model_fields["default_evaluation_criteria"].annotation
    candidates = get_args(annotation) or (annotation,)
    for candidate in candidates:
        if isinstance(candidate, type) and issubclass(candidate, BaseEvaluationCriteria):
            return candidate
    return None


def _shown(found: object) -> str:
    return getattr(found, "__name__", repr(found))
