"""Config and criteria for readers: one row a field, out of their JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    """One field: its default as JSON, "required" where it has none, and its other names."""

    name: str
    kind: str
    default: str
    meaning: str
    other_names: tuple[str, ...]


def field_rows(schema: Mapping[str, Any], aliases: Mapping[str, str]) -> Iterator[FieldRow]:
    """Yield the fields of a config or criteria in their order."""
    required = schema.get("required", [])
    definitions = schema.get("$defs", {})
    for name, field in schema.get("properties", {}).items():
        others = tuple(other for other, own in aliases.items() if own == name)
        yield FieldRow(
            name=name,
            kind=_kind(field, definitions),
            default="required" if name in required else _default(field),
            meaning=str(field.get("description", "")),
            other_names=others,
        )


def _default(field: Mapping[str, Any]) -> str:
    return json.dumps(field["default"], ensure_ascii=False) if "default" in field else "-"


def _kind(field: Any, definitions: Mapping[str, Any], depth: int = 0) -> str:
    """The type of a field in words: `list of text`, `number or null`, its allowed values."""
    if not isinstance(field, dict) or depth > MAX_DEPTH:
        return "any"
    if name := str(field.get("$ref", "")).rpartition("/")[2]:
        return _kind(definitions.get(name), definitions, depth + 1)
    if values := field.get("enum"):
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
    if "const" in field:
        return json.dumps(field["const"], ensure_ascii=False)
    if options := field.get("anyOf") or field.get("oneOf"):
        kinds = dict.fromkeys(_kind(option, definitions, depth + 1) for option in options)
        return " or ".join(kinds)
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items'), definitions, depth + 1)}"
    return _WORDS.get(str(field.get("type")), "any")


_WORDS = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "true or false",
    "object": "mapping",
    "null": "null",
}
