"""Evaluators of ours that stand for those written for UiPath."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, PrivateAttr, ValidationError

from tracejury import Criteria, Evaluator, Failure, Score, Skip
from tracejury.errors import DefinitionError
from tracejury.evaluator import describe
from tracejury.evaluator.checks import TYPE_NAME
from tracejury.result import default_verdict
from tracejury.trace import Trace
from tracejury_evaluators.adapters.lacking import NotRecorded
from tracejury_evaluators.adapters.mirror import (
    aliases_of,
    config_validator,
    criteria_class,
    fields_of,
    told,
)
from tracejury_evaluators.adapters.naming import held_name, make_model
from tracejury_evaluators.adapters.uipath.definition import (
    check_definition,
    config_type,
    criteria_type,
    place,
)
from tracejury_evaluators.adapters.uipath.models import (
    BaseEvaluationResult,
    BooleanEvaluationResult,
    ErrorEvaluationResult,
    NumericEvaluationResult,
)
from tracejury_evaluators.adapters.uipath.recorded import recorded_execution

if TYPE_CHECKING:
    from tracejury_evaluators.adapters.uipath.evaluator import BaseEvaluator


class Adapted(Evaluator[Criteria]):
    """The base of what stands for an evaluator of UiPath; `uipath` is that evaluator."""

    uipath_class: ClassVar[Any]
    _made: Any = PrivateAttr()

    def model_post_init(self, _context: Any, /) -> None:
        """Make the evaluator, so that a config it does not take is found at once."""
        self._made = self._make()

    @property
    def uipath(self) -> BaseEvaluator[Any, Any, Any]:
        """The evaluator itself."""
        made: BaseEvaluator[Any, Any, Any] = self._made
        return made

    async def evaluate(self, trace: Trace, criteria: Criteria) -> Any:
        """Judge with the evaluator itself; skip where it read what was not recorded."""
        given = criteria.model_dump(by_alias=True, exclude_unset=True)
        in_force = self._in_force(given)
        if isinstance(in_force, (Skip, Failure)):
            return in_force
        try:
            return outcome_of(await self.uipath.evaluate(recorded_execution(trace), in_force))
        except NotRecorded as missing:
            return Skip(str(missing))

    def _in_force(self, given: Mapping[str, Any]) -> BaseModel | Skip | Failure:
        """The criteria of the case over those of the config."""
        default = self.uipath.evaluator_config.default_evaluation_criteria
        base = {} if default is None else default.model_dump(exclude_unset=True)
        kind = criteria_type(type(self.uipath))
        try:
            return kind.model_validate({**base, **given}, by_alias=True, by_name=True)
        except ValidationError as error:
            if not given and default is None:
                return Skip("no criteria are given, and the config has no default")
            return Failure("CriteriaError", describe(error, "criteria", kind.model_fields))

    @abstractmethod
    def _make(self) -> BaseEvaluator[Any, Any, Any]: ...


def outcome_of(result: object) -> object:
    """A result of UiPath as an outcome; an error is a failure. Anything else is left as it is."""
    if not isinstance(result, BaseEvaluationResult):
        return result
    reason, details = _explained(result.details)
    if isinstance(result, ErrorEvaluationResult):
        message = result.error or reason or "the evaluator gave an error without a text"
        return Failure(result.error_type, message, result.traceback)
    if isinstance(result, (BooleanEvaluationResult, NumericEvaluationResult)):
        reason = reason or f"the evaluator gave {float(result.score):g}"
    if isinstance(result, BooleanEvaluationResult):
        return Score(float(result.score), default_verdict(result.score), reason, details=details)
    if isinstance(result, NumericEvaluationResult):
        return Score(result.score, None, reason, details=details)
    raise TypeError(f"{type(result).__name__} is no result that is known")


@cache
def evaluator_class(foreign: type[BaseEvaluator[Any, Any, Any]]) -> type[Evaluator[Any]]:
    """The evaluator class that stands for one of UiPath.

    Raises: DefinitionError where the class can never work.
    """
    check_definition(foreign)
    config, criteria = config_type(foreign), criteria_class(criteria_type(foreign))
    type_name = _id_of(foreign)

    def make(self: Adapted) -> BaseEvaluator[Any, Any, Any]:
        given = {name: getattr(self, held_name(Adapted, name)) for name in config.model_fields}
        return foreign(id=type_name, config=config.model_construct(**given))

    body = {
        **told(foreign),
        "__qualname__": foreign.__qualname__,
        "_make": make,
        "_taken": config_validator(config),
        "criteria_type": classmethod(lambda _: criteria),
        "config_schema": classmethod(lambda _: foreign.get_config_schema()),
        "criteria_schema": classmethod(lambda _: foreign.get_evaluation_criteria_schema()),
    }
    base: Any = Adapted
    variables = {"type": type_name, "uipath_class": foreign, **aliases_of(config)}
    return make_model(base, foreign.__name__, fields_of(config), body, variables)


def _id_of(foreign: type[BaseEvaluator[Any, Any, Any]]) -> str:
    try:
        found: object = foreign.get_evaluator_id()
    except Exception as error:
        raise DefinitionError(
            f"{place(foreign)}: error getting evaluator ID: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, str) or not TYPE_NAME.fullmatch(found):
        raise DefinitionError(
            f"{place(foreign)}: error getting evaluator ID: {found!r} is no id; "
            "return letters, digits, hyphens or dots"
        )
    return found


def _explained(details: object) -> tuple[str, Mapping[str, Any]]:
    """Why a result is as it is: the sentence, and the data."""
    if isinstance(details, BaseModel):
        details = details.model_dump(mode="json")
    if isinstance(details, str):
        data = _object(details)
        if data is None:
            return details, {}
        details = data
    if not isinstance(details, Mapping):
        return "", {}
    sentence = details.get("reason", details.get("justification", ""))
    if not sentence and {"expected", "actual"} <= details.keys():
        sentence = f"expected {details['expected']}, got {details['actual']}"
    return str(sentence), details


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text holds; None where it holds none."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
