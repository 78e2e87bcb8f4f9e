"""Checks of an evaluator's definition, each failing with one sentence and its remedy."""

from __future__ import annotations

import inspect
import math
import re
import sys
from typing import Any, ClassVar, get_origin

from pydantic import BaseModel

from tracejury.errors import DefinitionError

CLASS_VARIABLES = ("type", "version", "label", "timeout_s", "waits", "aliases", "source_hash")
METHODS = ("evaluate", "fingerprint", "criteria_type", "config_schema", "criteria_schema")
TYPE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,99}")


def check_class_variables(cls: type[Any]) -> None:
    """Check that no config field takes the name of something every evaluator has.

    Raises: DefinitionError where one does.
    """
    for name, annotation in inspect.get_annotations(cls).items():
        if _is_class_variable(annotation):
            continue
        if name in CLASS_VARIABLES:
            raise DefinitionError(
                f"{place(cls)}: {name} is no config field; write `{name}: ClassVar[...] = ...`"
            )
        if name in METHODS:
            raise DefinitionError(
                f"{place(cls)}: every evaluator has a method {name}; rename the config field"
            )


def check_definition(cls: type[BaseModel], criteria: type[BaseModel]) -> None:
    """Check a finished evaluator class; `criteria` is the base of all criteria.

    Raises: DefinitionError where the class can never work.
    """
    if cls.__pydantic_generic_metadata__["origin"] is not None:
        _check_criteria_argument(cls, criteria)
    elif not inspect.isabstract(cls):
        _check_names(cls)
        _check_evaluate(cls)
    elif "type" in vars(cls) and "evaluate" in cls.__abstractmethods__:
        raise DefinitionError(
            f"{place(cls)} has no evaluate method: add "
            "`def evaluate(self, trace: Trace, criteria: Criteria) -> Score | Skip: ...`"
        )


def place(cls: type[Any]) -> str:
    """Where a class is defined, as it stands at the start of a message."""
    return f"{cls.__module__}.{cls.__qualname__}"


def _check_names(cls: type[Any]) -> None:
    name = getattr(cls, "type", None)
    if name is None:
        raise DefinitionError(
            f"{place(cls)} has no type: add `type: ClassVar[str] = {_suggestion(cls.__name__)!r}`"
        )
    if not isinstance(name, str) or not TYPE_NAME.fullmatch(name):
        raise DefinitionError(
            f"{place(cls)}: type {name!r} is no name; use letters, digits and hyphens, "
            f"such as {_suggestion(cls.__name__)!r}"
        )
    version = cls.version
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DefinitionError(
            f"{place(cls)}: version {version!r} is no whole number from 1; "
            "raise it by one when results change"
        )
    _check_timeout(cls)
    if not isinstance(cls.waits, bool | property | None):
        raise DefinitionError(f"{place(cls)}: waits {cls.waits!r} is neither True nor False")


def _check_timeout(cls: type[Any]) -> None:
    timeout_s = cls.timeout_s
    if timeout_s is None or isinstance(timeout_s, property):
        return
    is_number = isinstance(timeout_s, (int, float)) and not isinstance(timeout_s, bool)
    if not is_number or not 0 < timeout_s < math.inf:
        raise DefinitionError(
            f"{place(cls)}: timeout_s {timeout_s!r} is no number of seconds above 0; "
            "leave it out to take the service's setting"
        )


def _check_evaluate(cls: type[Any]) -> None:
    evaluate = inspect.getattr_static(cls, "evaluate")
    if not inspect.isfunction(evaluate):
        raise DefinitionError(f"{place(cls)}: evaluate is no method; write `def evaluate(self, …)`")
    signature = inspect.signature(evaluate)
    try:
        bound = signature.bind("self", "trace", "criteria")
    except TypeError as error:
        raise DefinitionError(
            f"{place(cls)}: evaluate{signature} cannot be called with a trace and its criteria; "
            "write `def evaluate(self, trace: Trace, criteria: Criteria)`"
        ) from error
    names = list(bound.arguments)
    if len(names) == 3:
        _check_agreement(cls, evaluate, names[2])


def _check_agreement(cls: type[Any], evaluate: Any, parameter: str) -> None:
    """Check that evaluate takes the criteria that the class names."""
    taken = _resolved(evaluate, parameter)
    declared = cls.criteria_type()
    if not inspect.isclass(taken) or issubclass(declared, taken):
        return
    raise DefinitionError(
        f"{place(cls)} declares {declared.__name__} as its criteria, but evaluate takes "
        f"{taken.__name__}; write `class {cls.__name__}(Evaluator[{taken.__name__}])` "
        f"or `{parameter}: {declared.__name__}`"
    )


def _resolved(function: Any, parameter: str) -> Any:
    """The annotation of a parameter; None where it names something that is not global."""
    annotation = inspect.get_annotations(function).get(parameter)
    if not isinstance(annotation, str):
        return annotation
    module = sys.modules.get(function.__module__)
    return vars(module).get(annotation) if module else None


def _check_criteria_argument(cls: type[BaseModel], criteria: type[BaseModel]) -> None:
    for argument in cls.__pydantic_generic_metadata__["args"]:
        # `Evaluator[Any]` is what a signature says of any evaluator
        if argument is Any or not inspect.isclass(argument):
            continue
        if not issubclass(argument, criteria):
            raise DefinitionError(
                f"{cls.__name__}: {argument.__name__} is no criteria type; "
                f"write `class {argument.__name__}(Criteria):`"
            )


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return "ClassVar" in annotation
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def _suggestion(class_name: str) -> str:
    """A type name made from a class name: NoSecrets -> no-secrets."""
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", class_name)
    return "-".join(word.lower() for word in words) or "my-check"
