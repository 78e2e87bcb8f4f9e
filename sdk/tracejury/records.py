"""Frozen dataclasses that are quick to make: one trace holds hundreds of them."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

T = TypeVar("T")


def quick(kind: type[T]) -> type[T]:
    """The keyword-only frozen dataclass with slots, its `__init__` setting the slots directly.

    The usual `__init__` of a frozen dataclass takes the way over `object.__setattr__`, which
    looks the slot up again for each value and costs three times as much.
    """
    names: dict[str, Any] = {"_missing": MISSING}
    arguments, body = [], []
    for field in fields(kind):  # type: ignore[arg-type]
        names[f"_set_{field.name}"] = kind.__dict__[field.name].__set__
        arguments.append(_argument(field, names))
        body.append(f"    _set_{field.name}(self, {_value(field)})")
    source = "\n".join((f"def __init__(self, *, {', '.join(arguments)}):", *body))
    exec(source, names)  # noqa: S102 - made of field names only, as dataclasses do it
    made = names["__init__"]
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    made.__annotations__ = kind.__init__.__annotations__
    kind.__init__ = made  # type: ignore[method-assign]
    return kind


def _argument(field: Field[Any], names: dict[str, Any]) -> str:
    if field.default is not MISSING:
        names[f"_default_{field.name}"] = field.default
        return f"{field.name}=_default_{field.name}"
    if field.default_factory is not MISSING:
        names[f"_make_{field.name}"] = field.default_factory
        return f"{field.name}=_missing"
    return field.name


def _value(field: Field[Any]) -> str:
    if field.default_factory is MISSING:
        return field.name
    return f"_make_{field.name}() if {field.name} is _missing else {field.name}"
