"""The quick yes of schemas: never where the whole validator says no."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

from tracejury_evaluators.schemas import DEFAULT_DIALECT, compile_schema

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
PERSON = {
    "type": "object",
    "title": "a person",
    "properties": {
        "name": {"type": "string", "minLength": 1, "description": "the full name"},
        "age": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"enum": ["a", "b", 1]}, "maxItems": 2},
    },
    "required": ["name"],
    "additionalProperties": False,
}
SCHEMAS: list[Any] = [
    True,
    False,
    {},
    PERSON,
    {"additionalProperties": {"type": ["number", "boolean"], "maximum": 3}},
    {"items": {"type": "integer"}, "minItems": 1},
    {"items": [{"type": "string"}], "$schema": DRAFT_7},
    {"prefixItems": [{"type": "string"}], "items": False},
    {"enum": [0, "", None, [1]]},
    {"const": 1},
    {"type": "integer", "$schema": DRAFT_4},
    {"minimum": 1, "exclusiveMinimum": True, "$schema": DRAFT_4},
    {"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "null"}}},
    {"maxLength": 1, "minimum": 2.5},
    {"anyOf": [{"not": {"type": "string"}}, {"type": "string", "pattern": "^a"}]},
    {"required": ["a"], "dependentRequired": {"a": ["b"]}},
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 1.0, 2.5, 10**30, math.nan, "", "a", "bb", "\ud800"),
    *([], ["a"], ["a", "b"], ["c"], [1], [1.0], [True], [[1]], {}, {"a": None}, {"a": 1, "b": 2}),
    {"name": "Ada"},
    {"name": ""},
    {"name": "Ada", "age": 36, "tags": ["a", "b"]},
    {"name": "Ada", "age": None, "tags": ["a", 1]},
    {"name": "Ada", "age": -1},
    {"name": "Ada", "age": True},
    {"name": "Ada", "else": 1},
    {"tags": ["a", "b", "a"]},
]


@pytest.mark.parametrize(("schema", "data"), list(product(SCHEMAS, VALUES)))
def test_what_is_accepted_quickly_conforms(schema: Any, data: Any) -> None:
    compiled = compile_schema(schema)
    assert compiled.validator.is_valid(data) or not compiled.accepts(data)


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        (True, 1),
        (PERSON, {"name": "Ada", "age": 36, "tags": ["a", "b"]}),
        ({**PERSON, "$schema": DRAFT_7}, {"name": "Ada", "age": None}),
        ({**PERSON, "$schema": DEFAULT_DIALECT}, {"name": "Ada"}),
        ({"additionalProperties": {"type": ["number", "boolean"]}}, {"a": 1.5, "b": True}),
        ({"items": {"minimum": 1}}, [1, 2.5, "a"]),
    ],
)
def test_usual_schemas_are_accepted_quickly(schema: Any, data: Any) -> None:
    assert compile_schema(schema).accepts(data)
    assert compile_schema(schema).violations(data) == []
