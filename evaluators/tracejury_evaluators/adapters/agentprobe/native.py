"""Evaluators of ours that stand for those written for AgentProbe."""

from __future__ import annotations

import inspect
import typing
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import Field, PrivateAttr, PydanticSchemaGenerationError, TypeAdapter
from pydantic_core import to_jsonable_python

from tracejury import Criteria, Evaluator, Failure, Score, Skip, Verdict
from tracejury.errors import DefinitionError
from tracejury.evaluator.hashing import fingerprint_of
from tracejury.trace import Trace
from tracejury_evaluators.adapters.agentprobe.models import EvalResult, EvalVerdict
from tracejury_evaluators.adapters.agentprobe.recorded import case_of, recorded_trace
from tracejury_evaluators.adapters.lacking import NotRecorded
from tracejury_evaluators.adapters.naming import held_name, kebab, make_model

if TYPE_CHECKING:
    from tracejury_evaluators.adapters.agentprobe.evaluator import BaseEvaluator

_POSITIONAL = inspect.Parameter.POSITIONAL_ONLY
_VERDICTS: Mapping[EvalVerdict, Verdict] = {
    EvalVerdict.PASS: "pass",
    EvalVerdict.PARTIAL: "partial",
    EvalVerdict.FAIL: "fail",
}
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class CaseCriteria(Criteria):
    """What a case says of itself; it becomes the `TestCase`."""

    name: str | None = Field(default=None, description="name of the case; else the trace's")
    description: str = Field(default="", description="what the case is about")
    input_text: str | None = Field(default=None, description="what was asked; else as recorded")
    expected_output: str | None = Field(default=None, description="the answer expected")
    tags: list[str] = Field(default_factory=list, description="labels of the case")
    metadata: dict[str, Any] = Field(default_factory=dict, description="anything else")


class Adapted(Evaluator[CaseCriteria]):
    """The base of what stands for an evaluator of AgentProbe; `agentprobe` is that evaluator."""

    _made: BaseEvaluator = PrivateAttr()

    def model_post_init(self, _context: Any, /) -> None:
        """Make the evaluator, so that a config it does not take is found at once."""
        self._made = self._make()

    @property
    def agentprobe(self) -> BaseEvaluator:
        """The evaluator itself."""
        return self._made

    async def evaluate(self, trace: Trace, criteria: CaseCriteria) -> Score | Skip | Failure:
        """Judge with the evaluator itself; skip where it read what was not recorded."""
        try:
            case = case_of(trace, criteria.model_dump(exclude_none=True))
            return outcome_of(await self._made.evaluate(case, recorded_trace(trace)))
        except NotRecorded as missing:
            return Skip(str(missing))

    @abstractmethod
    def _make(self) -> BaseEvaluator: ...


class AdaptedInstance(Adapted):
    """The base of what stands for a ready evaluator: told apart by what that one is."""

    def fingerprint(self) -> str:
        """16 hex digits of the type and of the attributes of the ready evaluator."""
        return fingerprint_of(self.type, self.version, self._identity())

    def _identity(self) -> dict[str, Any]:
        return description_of(self.agentprobe)


def outcome_of(result: object) -> Score | Failure:
    """A result of AgentProbe as an outcome; verdict ERROR is a failure.

    Raises: TypeError where it is none.
    """
    if not isinstance(result, EvalResult):
        raise TypeError(f"evaluate returned {type(result).__name__}; return an EvalResult")
    told = result.metadata
    if result.verdict is EvalVerdict.ERROR:
        return Failure(
            str(told.get("error_type") or "EvaluationError"),
            str(told.get("error") or result.reason or "the evaluator gave the verdict ERROR"),
            str(told.get("traceback") or ""),
        )
    reason = result.reason or f"the evaluator gave {result.score:g}"
    return Score(result.score, _VERDICTS[result.verdict], reason, details=told)


def description_of(evaluator: BaseEvaluator) -> dict[str, Any]:
    """What an evaluator is, for its fingerprint: its type and its attributes as JSON data."""
    return {
        "type": kebab(type(evaluator).__name__),
        "config": to_jsonable_python(vars(evaluator), fallback=lambda value: type(value).__name__),
    }


@cache
def evaluator_class(foreign: type[BaseEvaluator]) -> type[Evaluator[Any]]:
    """The evaluator class that stands for one of AgentProbe; its type is the class's name.

    Raises: DefinitionError where the class cannot be made from a config.
    """
    if inspect.isabstract(foreign):
        raise DefinitionError(
            f"{_place(foreign)} does not define {', '.join(sorted(foreign.__abstractmethods__))}; "
            "add `async def _evaluate(self, test_case, trace) -> EvalResult`"
        )
    fields = {name: (kind, default) for name, kind, default in _parameters(foreign)}

    def make(self: Adapted) -> BaseEvaluator:
        held = {name: getattr(self, held_name(Adapted, name)) for name in fields}
        return foreign(**held)

    return _adapted(Adapted, foreign, fields, {"_make": make})


def as_evaluator(ready: BaseEvaluator) -> Evaluator[Any]:
    """The evaluator of ours that stands for one that is ready made."""
    body = {"_make": lambda _: ready}
    return _adapted(AdaptedInstance, type(ready), {}, body)()


def adapted_factory(
    source: type[Any], make: Callable[[], BaseEvaluator], identity: dict[str, Any]
) -> type[Evaluator[Any]]:
    """The evaluator class, without config, that stands for whatever `make` makes."""

    def told(self: AdaptedInstance) -> dict[str, Any]:
        return {**description_of(self.agentprobe), **identity}

    return _adapted(AdaptedInstance, source, {}, {"_make": lambda _: make(), "_identity": told})


def _adapted(
    base: Any,
    source: type[Any],
    fields: dict[str, tuple[Any, Any]],
    body: dict[str, Any],
) -> type[Evaluator[Any]]:
    told = {
        "__doc__": inspect.getdoc(source) if source.__doc__ else "",
        "__module__": source.__module__,
        "__qualname__": source.__qualname__,
    }
    variables = {"type": kebab(source.__name__), "label": ""}
    try:
        made: type[Evaluator[Any]] = make_model(
            base, source.__name__, fields, {**told, **body}, variables
        )
        return made
    except DefinitionError:
        raise
    except Exception as error:
        raise DefinitionError(
            f"{_place(source)}: its parameters make no config: {error}"
        ) from error


def _parameters(foreign: type[BaseEvaluator]) -> Iterator[tuple[str, Any, Any]]:
    """The parameters of the constructor that a config can give: name, annotation, default."""
    parameters = list(inspect.signature(foreign.__init__).parameters.values())[1:]
    hints = _hints(foreign)
    for parameter in parameters:
        if parameter.kind in _VARIADIC or parameter.kind is _POSITIONAL:
            continue
        kind = hints.get(parameter.name, Any)
        required = parameter.default is inspect.Parameter.empty
        if not _fits_json(kind):
            if required:
                raise DefinitionError(
                    f"{_place(foreign)}: parameter {parameter.name!r} is no data that a config "
                    "can hold; give it a default, or make the evaluator in a subclass"
                )
            continue
        if parameter.default is None:
            kind = kind | None
        yield parameter.name, kind, ... if required else parameter.default


def _fits_json(kind: Any) -> bool:
    """Whether a config can give a value of this kind."""
    try:
        TypeAdapter(kind).json_schema()
    except (PydanticSchemaGenerationError, ValueError, TypeError):
        return False
    return True


def _hints(foreign: type[BaseEvaluator]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(foreign.__init__, include_extras=True)
    except NameError as error:
        raise DefinitionError(
            f"{_place(foreign)}: an annotation of __init__ cannot be read: {error}; "
            "define the types it names at the top of the module"
        ) from error


def _place(source: type[Any]) -> str:
    return f"{source.__module__}.{source.__qualname__}"
