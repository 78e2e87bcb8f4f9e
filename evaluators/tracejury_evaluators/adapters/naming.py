"""Names of types, and fields of an evaluator of ours that hold what other systems take."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, Field

M = TypeVar("M", bound=BaseModel)


def kebab(class_name: str) -> str:
    """A class name as that of a type or file: MinWords -> min-words, HTTPCheck -> http-check."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", class_name)
    return "-".join(word.lower() for word in words) or "evaluator"


def make_model(
    base: type[M],
    name: str,
    fields: Mapping[str, tuple[Any, Any]],
    body: Mapping[str, Any],
    class_variables: Mapping[str, Any],
) -> type[M]:
    """A subclass of `base` with these fields (name -> annotation, default), methods and variables.

    A field whose name the base uses itself is held under another, and taken under its own.
    """
    annotations: dict[str, Any] = dict.fromkeys(class_variables, ClassVar[Any])
    namespace: dict[str, Any] = {**body, **class_variables, "__annotations__": annotations}
    for own, (annotation, default) in fields.items():
        held = held_name(base, own)
        annotations[held] = annotation
        namespace[held] = Field(default, alias=own) if held != own else Field(default)
    return types.new_class(name, (base,), {}, lambda made: made.update(namespace))


def held_name(base: type[BaseModel], name: str) -> str:
    """The name under which a field is held: one that the model has already gets a "_"."""
    plain = name.lstrip("_")
    taken = hasattr(base, plain) or plain in getattr(base, "__annotations__", {})
    reserved = taken or plain in ("type", "version", "label", "timeout_s", "waits", "aliases")
    return f"{plain}_" if reserved or plain != name else name
