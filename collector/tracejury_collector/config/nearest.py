"""What was meant by a name that nobody knows: the nearest of those that there are."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from tracejury_collector.config.fields import section_of


def unknown_setting(model: type[BaseModel], location: Sequence[str | int]) -> str:
    """Return what is wrong with the unknown setting at `location` in a model, and what was meant.

    `location` is that of pydantic's error: the names of fields and keys down to the setting.
    """
    known = _names_at(model, location[:-1])
    return f"unknown setting{nearest(str(location[-1]), known) if known else ''}"


def nearest(word: str, known: Sequence[str]) -> str:
    """Return the hint at the nearest name; at all of them where none is near."""
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else f"; known: {', '.join(sorted(known))}"


def _names_at(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Return the names of the settings of the section at `location`; none where it is unclear."""
    section, is_key = model, False
    for part in location:
        if is_key:
            is_key = False
            continue
        annotation = _fields(section).get(str(part))
        held = _held_in(annotation)
        found = section_of(held or annotation)
        if found is None:
            return []
        section, is_key = found, held is not None
    return list(_fields(section))


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    """Return the type of each setting by the name that it is written with."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _held_in(annotation: Any) -> Any:
    """Return the type of the values of a mapping or the items of a list; None for other types."""
    kind = get_origin(annotation)
    if kind in (Union, UnionType):
        return next((held for arg in get_args(annotation) if (held := _held_in(arg))), None)
    if not (isinstance(kind, type) and issubclass(kind, (Mapping, list, tuple))):
        return None
    held = [arg for arg in get_args(annotation) if arg is not Ellipsis]
    return held[-1] if held else None
