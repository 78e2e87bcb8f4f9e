"""Names under which a config or criteria takes its fields."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from pydantic import BaseModel, model_validator
from pydantic.alias_generators import to_camel


class WithAliases(BaseModel):
    """A model that takes its fields in camelCase too, and under the names in `aliases`.

    `aliases` maps another name to the field's own. What is dumped, hashed and described always
    has the field's own name.
    """

    aliases: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _under_own_names(cls, data: Any) -> Any:
        return own_names(cls, data) if isinstance(data, Mapping) else data


def own_names(model: type[WithAliases], data: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The data with every field under its own name.

    Raises: ValueError where a field is given under two names.
    """
    other = _other_names(model)
    return data if other.keys().isdisjoint(data) else _renamed(data, other)


@cache
def _other_names(model: type[WithAliases]) -> Mapping[str, str]:
    own = [field.alias or name for name, field in model.model_fields.items()]
    names = {to_camel(name): name for name in own} | dict(model.aliases)
    return {name: field for name, field in names.items() if name not in own}


def _renamed(data: Mapping[Any, Any], other: Mapping[str, str]) -> dict[Any, Any]:
    renamed: dict[Any, Any] = {}
    for name, value in data.items():
        own = other.get(name, name) if isinstance(name, str) else name
        if own in renamed or (own != name and own in data):
            raise ValueError(f"{name!r} and {own!r} are the same field; keep one of them")
        renamed[own] = value
    return renamed
