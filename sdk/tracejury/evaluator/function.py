"""`@evaluator`: a function as an evaluator, its keyword parameters as the config."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Concatenate, Generic, ParamSpec, TypeVar, overload

from pydantic import BaseModel, Field

from tracejury.errors import DefinitionError
from tracejury.evaluator.base import Criteria, Evaluator, Returned
from tracejury.evaluator.checks import CLASS_VARIABLES, METHODS
from tracejury.trace import Trace

P = ParamSpec("P")
K = TypeVar("K", bound=Criteria)


class EvaluatorFunction(Generic[P]):
    """A function made an evaluator: call it with its config to get one that can be run.

    `function` is the function itself; `evaluator_type` the class that stands for it.
    """

    def __init__(
        self, function: Callable[..., Returned], evaluator_type: type[Evaluator[Any]]
    ) -> None:
        self.function = function
        self.evaluator_type = evaluator_type
        self.__doc__ = function.__doc__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Evaluator[Any]:
        """An evaluator with this config."""
        if args:
            raise TypeError(
                f"{self.evaluator_type.type}: give the config by keyword; "
                "to call the function itself, use `.function`"
            )
        return self.evaluator_type(**kwargs)


class EvaluatorDecorator:
    """What `@evaluator("name")` applies to a function."""

    def __init__(self, class_variables: Mapping[str, Any]) -> None:
        self._class_variables = class_variables

    @overload
    def __call__(
        self, function: Callable[Concatenate[Trace, K, P], Returned]
    ) -> EvaluatorFunction[P]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[Trace, P], Returned]
    ) -> EvaluatorFunction[P]: ...
    def __call__(self, function: Callable[..., Returned]) -> EvaluatorFunction[Any]:
        """The function as an evaluator.

        Raises: DefinitionError where its parameters are not (trace[, criteria], *, config).
        """
        variables = dict(self._class_variables)
        if variables["waits"] is None:
            variables["waits"] = inspect.iscoroutinefunction(function)
        return EvaluatorFunction(function, _class_of(function, variables))


def evaluator(
    type_name: str,
    *,
    version: int = 1,
    label: str = "",
    timeout_s: float | None = None,
    waits: bool | None = None,
) -> EvaluatorDecorator:
    """A decorator that makes a function an evaluator of this type.

    The function takes the trace, then its criteria if it has any, then its config by keyword:
    `def check(trace: Trace, *, currency: str = "EUR") -> bool`.
    """
    if not isinstance(type_name, str):
        raise DefinitionError('an evaluator needs a name; write @evaluator("my-check")')
    variables = {
        "type": type_name,
        "version": version,
        "label": label,
        "timeout_s": timeout_s,
        "waits": waits,
    }
    return EvaluatorDecorator(variables)


def _class_of(
    function: Callable[..., Returned], class_variables: Mapping[str, Any]
) -> type[Evaluator[Any]]:
    hints = _hints(function)
    config, criteria_type = _parameters(function, hints)
    fields = {_field_name(parameter.name): parameter for parameter in config}
    takes_criteria = criteria_type is not None

    def evaluate(self: BaseModel, trace: Trace, criteria: Criteria) -> Returned:
        arguments = {parameter.name: getattr(self, name) for name, parameter in fields.items()}
        return (
            function(trace, criteria, **arguments)
            if takes_criteria
            else function(trace, **arguments)
        )

    del evaluate.__annotations__["criteria"]
    annotations: dict[str, Any] = dict.fromkeys(class_variables, ClassVar[Any])
    namespace: dict[str, Any] = {
        **class_variables,
        "evaluate": evaluate,
        "__doc__": function.__doc__,
        "__module__": function.__module__,
        "__qualname__": function.__qualname__,
        "__annotations__": annotations,
    }
    for name, parameter in fields.items():
        annotations[name] = hints.get(parameter.name, Any)
        namespace[name] = _field(name, parameter)
    base: Any = Evaluator.__class_getitem__(criteria_type or Criteria)
    return types.new_class(function.__name__, (base,), {}, lambda body: body.update(namespace))


def _hints(function: Callable[..., Returned]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise DefinitionError(
            f"{_place(function)}: an annotation cannot be read: {error}; "
            "define the types it names at the top of the module"
        ) from error


def _parameters(
    function: Callable[..., Returned], hints: Mapping[str, Any]
) -> tuple[list[inspect.Parameter], type[Criteria] | None]:
    """The config parameters and the criteria type, if the function takes criteria."""
    parameters = list(inspect.signature(function).parameters.values())
    leading = [p for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    config = [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if not 1 <= len(leading) <= 2 or any(p.kind in variadic for p in leading):
        raise DefinitionError(
            f"{_place(function)} takes {inspect.signature(function)}; "
            "write (trace, *, config...) or (trace, criteria, *, config...)"
        )
    if len(leading) == 1:
        return config, None
    criteria_type = hints.get(leading[1].name)
    if not inspect.isclass(criteria_type) or not issubclass(criteria_type, Criteria):
        raise DefinitionError(
            f"{_place(function)}: the parameter {leading[1].name!r} is no Criteria; "
            f"put a `*,` before it if it is config, or annotate it with a subclass of Criteria"
        )
    return config, criteria_type


def _field_name(parameter: str) -> str:
    """The field that holds a parameter; one that a model already uses gets a trailing "_"."""
    if parameter in (*CLASS_VARIABLES, *METHODS):
        raise DefinitionError(f"the config parameter {parameter!r} is reserved; rename it")
    return f"{parameter}_" if hasattr(Evaluator, parameter) else parameter


def _field(name: str, parameter: inspect.Parameter) -> Any:
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    return Field(default, alias=parameter.name) if name != parameter.name else Field(default)


def _place(function: Callable[..., Returned]) -> str:
    return f"{function.__module__}.{function.__qualname__}"
