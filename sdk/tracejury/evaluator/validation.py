"""Validation errors in words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pydantic import BaseModel, ValidationError

from tracejury.bounds import clip

MAX_ERRORS = 5
MAX_VALUE_CHARS = 80


def describe(
    error: ValidationError, subject: str, known: Iterable[str] = (), *, partly: bool = False
) -> str:
    """The errors as one sentence each, every field named from `subject` on.

    `known` are the names that the top level takes; they serve to guess what was meant. Where the
    data may hold a part of the fields (`partly`), those that are missing there are no errors; ""
    if no others are left.
    """
    errors = error.errors(include_url=False)
    if partly:
        errors = [item for item in errors if item["type"] != "missing" or len(item["loc"]) > 1]
    shown = [
        _sentence(".".join([subject, *map(str, item["loc"])]), item["type"], item, known)
        for item in errors[:MAX_ERRORS]
    ]
    more = len(errors) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def field_names(model: type[BaseModel]) -> list[str]:
    """The names under which a config or criteria takes its fields."""
    return [field.alias or name for name, field in model.model_fields.items()]


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint at the known name nearest to `name`; "" where none is near."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _sentence(path: str, kind: str, item: object, known: Iterable[str]) -> str:
    details = item if isinstance(item, dict) else {}
    if kind == "extra_forbidden":
        names = list(known)
        takes = f"; it takes {', '.join(names)}" if names else "; it takes no fields"
        return f"{path}: unknown field{nearest(path.rsplit('.', 1)[-1], names) or takes}"
    if kind == "missing":
        return f"{path}: this field is required"
    if kind == "value_error":
        return f"{path}: {details.get('ctx', {}).get('error', details.get('msg'))}"
    given = clip(repr(details.get("input")), MAX_VALUE_CHARS)
    return f"{path}: {details.get('msg', kind)} (got {given})"
