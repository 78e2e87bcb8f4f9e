"""What settings are made of: quantities with units, and the base of every section."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

_UNITS_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNITS_BYTES = {"b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}


def _quantity(value: Any, units: Mapping[str, float], example: str) -> Any:
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", value)
    if not match or (match[2] and match[2].lower() not in units):
        raise ValueError(f"{value!r} is not a quantity; write it like {example}")
    return float(match[1]) * (units[match[2].lower()] if match[2] else 1)


def _seconds(value: Any) -> Any:
    return _quantity(value, _UNITS_S, "500ms, 3s, 2m or 1h")


def _bytes(value: Any) -> Any:
    number = _quantity(value, _UNITS_BYTES, "64MiB")
    return int(number) if isinstance(number, float) else number


Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]
SecondsFromZero = Annotated[float, BeforeValidator(_seconds), Field(ge=0)]
Bytes = Annotated[int, BeforeValidator(_bytes), Field(gt=0)]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Address = Annotated[str, Field(pattern=r"^(\[[0-9a-fA-F:]+\]|[^:\s]+):\d{1,5}$")]


def section_of(annotation: Any) -> type[BaseModel] | None:
    """Return the model in `Model` or `Model | None`; None for what is no section."""
    in_union = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    for candidate in (annotation, *in_union):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
