"""The evaluators that can be named in a config: a registry of types, and those built in."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import ValidationError

from tracejury.errors import DefinitionError
from tracejury.evaluator import Evaluator, EvaluatorFunction
from tracejury.evaluator.validation import describe, field_names, nearest
from tracejury_evaluators import (
    budget,
    composite,
    judge,
    output,
    process,
    retrieval,
    safety,
    sql,
    structure,
    tools,
    trajectory,
)
from tracejury_evaluators.loading import FOREIGN

BUILT_IN_ORIGIN = "built in"

FAMILIES = (
    output,
    structure,
    tools,
    trajectory,
    budget,
    retrieval,
    safety,
    composite,
    judge,
    process,
    sql,
)
"""The modules of the built-in evaluators; each lists its own in EVALUATORS."""

BUILT_IN: tuple[type[Evaluator[Any]], ...] = tuple(
    evaluator for family in FAMILIES for evaluator in family.EVALUATORS
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorType:
    """A type of evaluator as it is listed to users; `origin` says where it comes from."""

    type: str
    label: str
    description: str
    config_schema: dict[str, Any]
    criteria_schema: dict[str, Any]
    builtin: bool
    origin: str


class Registry:
    """Evaluator types by name."""

    def __init__(self) -> None:
        self._classes: dict[str, type[Evaluator[Any]]] = {}
        self._origins: dict[str, str] = {}
        self._rows: dict[str, EvaluatorType] = {}

    def register(
        self, definition: object, *, origin: str, name: str = "", source_hash: str = ""
    ) -> str:
        """Add an evaluator class, a function made an evaluator, or a class of another system.

        The latter has a class method `__tracejury_evaluator__` that returns the evaluator class
        that stands for it. `origin` says where it comes from, for messages; `name` is the type
        under which it is registered, and returned, where that is not its own. `source_hash` goes
        into the fingerprints, so that other contents of a file make another evaluator.
        Raises: DefinitionError where it is no evaluator, or where its name is taken.
        """
        evaluator = _evaluator_class(definition, origin)
        name = name or evaluator.type
        if name in self._classes:
            raise DefinitionError(
                f"evaluator type {name!r} of {origin} is already registered "
                f"({self._origins[name]}); rename one of the two"
            )
        if origin != BUILT_IN_ORIGIN:
            self._rows[name] = _row(evaluator, name, origin)
        self._classes[name] = evaluator
        self._origins[name] = origin
        if source_hash:
            evaluator.source_hash = source_hash
        return name

    def knows(self, type_name: object) -> bool:
        """Whether a type is registered."""
        return type_name in self._classes

    def types(self) -> list[EvaluatorType]:
        """All types: the built-in ones in their order, then plugins as they were registered."""
        return [
            self._rows.get(name) or _built_in_row(evaluator)
            for name, evaluator in self._classes.items()
        ]

    def evaluator_class(self, type_name: str) -> type[Evaluator[Any]]:
        """The class of a type.

        Raises: DefinitionError for an unknown one; it names the nearest.
        """
        evaluator = self._classes.get(type_name)
        if evaluator is None:
            hint = nearest(str(type_name), self._classes)
            known = "" if hint else f"; known are {', '.join(sorted(self._classes))}"
            raise DefinitionError(f"evaluator type {type_name!r} is unknown{hint}{known}")
        return evaluator

    def build(self, type_name: str, config: Mapping[str, Any] | None = None) -> Evaluator[Any]:
        """An evaluator of this type with this config.

        Validators of the config find this registry as `info.context["registry"]`, so that an
        evaluator can build others.

        Raises: DefinitionError for an unknown type or a config that does not fit; it names the
        field, the value and what would fit.
        """
        evaluator = self.evaluator_class(type_name)
        if config is not None and not isinstance(config, Mapping):
            raise DefinitionError(
                f"evaluator {type_name}: config is a mapping, not {type(config).__name__}"
            )
        try:
            return evaluator.model_validate(dict(config or {}), context={"registry": self})
        except ValidationError as error:
            problems = describe(error, "config", field_names(evaluator))
            raise DefinitionError(f"evaluator {type_name}: {problems}") from error
        except Exception as error:
            raise DefinitionError(
                f"evaluator {type_name}: the config cannot be used: {type(error).__name__}: {error}"
            ) from error


def built_in_registry() -> Registry:
    """A registry of the built-in evaluators alone."""
    registry = Registry()
    for evaluator in BUILT_IN:
        registry.register(evaluator, origin=BUILT_IN_ORIGIN)
    return registry


def _evaluator_class(definition: object, origin: str) -> type[Evaluator[Any]]:
    if isinstance(definition, EvaluatorFunction):
        return definition.evaluator_type
    if inspect.isclass(definition) and hasattr(definition, FOREIGN):
        definition = _standing_for(definition, origin)
    if not inspect.isclass(definition) or not issubclass(definition, Evaluator):
        raise DefinitionError(
            f"{origin}: {definition!r:.100} is no evaluator; "
            "name a subclass of Evaluator or a function decorated with @evaluator"
        )
    if inspect.isabstract(definition):
        left = ", ".join(sorted(definition.__abstractmethods__))
        raise DefinitionError(f"{origin}: {definition.__name__} does not define {left}")
    return definition


def _standing_for(foreign: type[Any], origin: str) -> object:
    """The evaluator class that stands for a class of another system."""
    try:
        return getattr(foreign, FOREIGN)()
    except DefinitionError as error:
        raise DefinitionError(f"{origin}: {error}") from error
    except Exception as error:
        raise DefinitionError(
            f"{origin}: {foreign.__name__} cannot be made an evaluator: "
            f"{type(error).__name__}: {error}"
        ) from error


@cache
def _built_in_row(evaluator: type[Evaluator[Any]]) -> EvaluatorType:
    """The row of a built-in type: made when it is listed, since schemas take long to make."""
    return _row(evaluator, evaluator.type, BUILT_IN_ORIGIN)


def _row(evaluator: type[Evaluator[Any]], name: str, origin: str) -> EvaluatorType:
    try:
        config_schema, criteria_schema = evaluator.config_schema(), evaluator.criteria_schema()
    except Exception as error:
        first_line = str(error).partition("\n")[0]
        raise DefinitionError(
            f"{origin}: {evaluator.type} has a field without a JSON Schema: {first_line}; "
            "use types that JSON can hold"
        ) from error
    return EvaluatorType(
        type=name,
        label=evaluator.label or evaluator.type.replace("-", " ").capitalize(),
        description=inspect.cleandoc(evaluator.__doc__ or ""),
        config_schema=config_schema,
        criteria_schema=criteria_schema,
        builtin=origin == BUILT_IN_ORIGIN,
        origin=origin,
    )
