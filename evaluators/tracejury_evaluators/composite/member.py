"""A member of a composite: an evaluator, its weight, and the name under which it is told."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Protocol, cast

from pydantic import ConfigDict, Field, PrivateAttr, ValidationInfo, model_validator

from tracejury.errors import DefinitionError
from tracejury.evaluator import Evaluator, checked_defaults, criteria_hash
from tracejury.evaluator.names import WithAliases

MAX_NAME_CHARS = 100


class Builder(Protocol):
    """What makes evaluators of a type and a config."""

    def build(self, type_name: str, config: Mapping[str, Any]) -> Evaluator[Any]:
        """Return the evaluator; raises DefinitionError."""
        ...


class Member(WithAliases):
    """One evaluator of a composite, written as a type and its config, or as a name.

    A name is that of an evaluator of the configuration, which replaces it by what it stands for.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())
    aliases: ClassVar[Mapping[str, str]] = {}

    evaluator: str | None = Field(
        default=None, description="name of a configured evaluator; left out where `type` is given"
    )
    type: str | None = Field(default=None, description="type of the evaluator")
    config: dict[str, Any] = Field(default={}, description="settings of that type")
    criteria: dict[str, Any] = Field(default={}, description="default criteria of this member")
    weight: float = Field(
        default=1.0, ge=0, allow_inf_nan=False, description="share in the result; 0: only told"
    )
    name: str = Field(
        default="", max_length=MAX_NAME_CHARS, description="name in the result; left out, the type"
    )
    _built: Evaluator[Any] = PrivateAttr()

    @model_validator(mode="after")
    def _build(self, info: ValidationInfo) -> Member:
        if getattr(self, "_built", None) is not None:
            return self
        context = cast("dict[str, Any]", info.context or {})
        given = context.get("built")
        self._built = given if isinstance(given, Evaluator) else self._made(context.get("registry"))
        try:
            checked_defaults(self._built.criteria_type(), self.criteria)
        except DefinitionError as error:
            raise ValueError(str(error)) from error
        return self

    def _made(self, registry: Builder | None) -> Evaluator[Any]:
        if self.type is None:
            what = f"names {self.evaluator!r}" if self.evaluator else "names no evaluator"
            raise ValueError(
                f"the member {what}; give its `type` and `config` here, or name an evaluator "
                "of the configuration file in `evaluator`"
            )
        try:
            return (registry or _built_in()).build(self.type, self.config)
        except DefinitionError as error:
            raise ValueError(str(error)) from error

    @property
    def built(self) -> Evaluator[Any]:
        """The evaluator itself."""
        return self._built

    @property
    def label(self) -> str:
        """The name in the result: its own, that of the configuration, or the type."""
        return self.name or self.evaluator or self._built.type

    def identity(self) -> list[object]:
        """What tells it from other members, whatever the place where it was written."""
        return [self.label, self.weight, self._built.fingerprint(), criteria_hash(self.criteria)]


def member_of(given: object) -> object:
    """A member where an evaluator, a pair of one and its weight, or a name is given.

    Whatever else is given is returned as it is, to be validated.
    """
    if isinstance(given, Evaluator):
        return _around(given, 1.0)
    if isinstance(given, str):
        return {"evaluator": given}
    if isinstance(given, (tuple, list)) and len(given) == 2 and isinstance(given[0], Evaluator):
        return _around(given[0], given[1])
    return given


def _around(built: Evaluator[Any], weight: object) -> Member:
    fields = {"type": built.type, "config": built.model_dump(by_alias=True), "weight": weight}
    return Member.model_validate(fields, context={"built": built})


@cache
def _built_in() -> Builder:
    """The registry of built-in types, for a config that is read outside of any registry."""
    # by name, because the registry is made of the families of which this is one
    module = importlib.import_module("tracejury_evaluators.registry")
    return cast("Builder", module.built_in_registry())
