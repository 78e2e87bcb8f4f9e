"""A quick yes for the schemas that most tools have: objects of typed properties, lists, choices.

A yes is sure; anything else only means that the whole validator has to be asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any

Accepts = Callable[[Any], bool]
"""Says whether data surely conforms."""

DIALECTS = frozenset(
    {
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
    }
)
SILENT = frozenset({"$schema", "$comment", "title", "description", "default", "examples"})
KNOWN = SILENT | {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "anyOf",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
}
TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": type(None),
}


def accepts(schema: Any, dialect: str) -> Accepts:
    """What says whether data surely conforms to a schema that is one of its dialect."""
    return _accepts(schema) if dialect.rstrip("#") in DIALECTS else _never


def _accepts(schema: Any) -> Accepts:
    if schema is True or schema == {}:
        return _always
    if not isinstance(schema, dict) or not schema.keys() <= KNOWN:
        return _never
    tests = [test for make in MAKERS for test in make(schema)]
    return tests[0] if len(tests) == 1 else lambda data: all(test(data) for test in tests)


def _always(_data: Any) -> bool:
    return True


def _never(_data: Any) -> bool:
    return False


def _of_type(schema: Mapping[str, Any]) -> Sequence[Accepts]:
    if "type" not in schema:
        return ()
    named = schema["type"]
    names = [named] if isinstance(named, str) else named
    types = {kind for name in names for kind in _types(name)}
    return (lambda data: type(data) in types,)


def _types(name: str) -> Sequence[type]:
    return (int, float) if name == "number" else (TYPES[name],)


def _of_object(schema: Mapping[str, Any]) -> Sequence[Accepts]:
    parts = {name: _accepts(part) for name, part in schema.get("properties", {}).items()}
    required = frozenset(schema.get("required", ()))
    other = _accepts(schema.get("additionalProperties", True))
    if not parts and not required and other is _always:
        return ()

    def conforms(data: Any) -> bool:
        if not isinstance(data, dict):
            return True
        return required <= data.keys() and all(
            parts.get(name, other)(value) for name, value in data.items()
        )

    return (conforms,)


def _of_list(schema: Mapping[str, Any]) -> Sequence[Accepts]:
    if "items" not in schema:
        return ()
    item = _accepts(schema["items"])
    return (lambda data: not isinstance(data, list) or all(map(item, data)),)


def _of_choice(schema: Mapping[str, Any]) -> Sequence[Accepts]:
    tests: list[Accepts] = []
    if "enum" in schema:
        # of texts alone: what equals a number or a list is for the whole validator to say
        texts = frozenset(choice for choice in schema["enum"] if isinstance(choice, str))
        tests.append(lambda data: isinstance(data, str) and data in texts)
    if "anyOf" in schema:
        parts = [_accepts(part) for part in schema["anyOf"]]
        tests.append(lambda data: any(part(data) for part in parts))
    return tests


def _of_size(schema: Mapping[str, Any]) -> Sequence[Accepts]:
    tests: list[Accepts] = []
    if "minimum" in schema or "maximum" in schema:
        low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        tests.append(lambda data: not isinstance(data, (int, float)) or low <= data <= high)
    kinds: tuple[tuple[type[Sized], str], ...] = ((list, "Items"), (str, "Length"))
    for kind, name in kinds:
        if f"min{name}" in schema or f"max{name}" in schema:
            tests.append(_sized(kind, schema.get(f"min{name}", 0), schema.get(f"max{name}")))
    return tests


def _sized(kind: type[Sized], low: float, high: float | None) -> Accepts:
    most = math.inf if high is None else high
    return lambda data: not isinstance(data, kind) or low <= len(data) <= most


MAKERS = (_of_type, _of_object, _of_list, _of_choice, _of_size)
