"""Keywords of JSON Schema whose cost stays in proportion to schema and data.

They replace those of the `jsonschema` library that match patterns by backtracking, or compare
every item of a list with every other. What they find is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import ValidationError
from referencing.jsonschema import lookup_recursive_ref

from tracejury_evaluators.schema_patterns import matches
from tracejury_evaluators.schema_steps import Errors, parts, spend

CHARS_PER_STEP = 4_096
MATCHES_PER_STEP = 4


def pattern(_validator: Any, value: str, instance: Any, _schema: Any) -> Errors:
    """Apply `pattern`."""
    if not isinstance(instance, str):
        return
    spend(len(instance) // CHARS_PER_STEP)
    if not matches(value, instance):
        yield ValidationError(f"{instance!r} does not match {value!r}")


def pattern_properties(
    validator: Any, value: Mapping[str, Any], instance: Any, _schema: Any
) -> Errors:
    """Apply `patternProperties`."""
    if not isinstance(instance, dict):
        return
    spend(len(value) * len(instance) // MATCHES_PER_STEP)
    for expression, subschema in value.items():
        for key, item in instance.items():
            if matches(expression, key):
                yield from validator.descend(item, subschema, path=key, schema_path=expression)


def additional_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
    """Apply `additionalProperties`."""
    if not isinstance(instance, dict):
        return
    patterns = list(schema.get("patternProperties", ()))
    named = schema.get("properties", {})
    spend((1 + len(patterns)) * len(instance) // MATCHES_PER_STEP)
    extras = [
        key
        for key in instance
        if key not in named and not any(matches(expression, key) for expression in patterns)
    ]
    if value is False:
        yield from (_unexpected("additional", key) for key in extras)
    elif isinstance(value, dict):
        for key in extras:
            yield from validator.descend(instance[key], value, path=key)


def unevaluated_properties(validator: Any, _value: Any, instance: Any, schema: Any) -> Errors:
    """Apply `unevaluatedProperties`."""
    if not isinstance(instance, dict):
        return
    seen = set(_evaluated(validator, instance, schema))
    for key in instance:
        if key not in seen:
            yield _unexpected("unevaluated", key)


def unique_items(_validator: Any, value: Any, instance: Any, _schema: Any) -> Errors:
    """Apply `uniqueItems`."""
    if value and isinstance(instance, list):
        spend(parts(instance) // MATCHES_PER_STEP)
        keys = [identity(item) for item in instance]
        if len(set(keys)) < len(keys):
            yield ValidationError(f"{instance!r} has non-unique elements")


def identity(value: Any) -> Any:
    """A hashable stand-in: two JSON values are equal where theirs are; true is not 1, 1.0 is.

    `value` is nested no deeper than Python can recurse.
    """
    if isinstance(value, dict):
        return ("object", frozenset((key, identity(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(identity(item) for item in value))
    return (value, isinstance(value, bool))


def _evaluated(validator: Any, instance: dict[str, Any], schema: Any) -> Iterator[str]:
    """The keys that `schema` evaluates, counting what it refers to and what applies in place."""
    if not isinstance(schema, dict):
        return
    patterns = schema.get("patternProperties", ())
    spend(1 + (1 + len(patterns)) * len(instance) // MATCHES_PER_STEP)
    yield from schema.get("properties", {}).keys() & instance.keys()
    for expression in patterns:
        yield from (key for key in instance if matches(expression, key))
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        if keyword in schema:
            value = schema[keyword]
            yield from (key for key, item in instance.items() if _holds(validator, item, value))
    for target in _referred(validator, schema):
        inner = validator.evolve(schema=target.contents, _resolver=target.resolver)
        yield from _evaluated(inner, instance, target.contents)
    for subschema in _in_place(validator, instance, schema):
        yield from _evaluated(validator, instance, subschema)


def _referred(validator: Any, schema: dict[str, Any]) -> Iterator[Any]:
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in schema:
            yield validator._resolver.lookup(schema[keyword])
    if "$recursiveRef" in schema:
        yield lookup_recursive_ref(validator._resolver)


def _in_place(validator: Any, instance: dict[str, Any], schema: dict[str, Any]) -> Iterator[Any]:
    """The subschemas that hold for the object as a whole."""
    dependent = schema.get("dependentSchemas", {})
    yield from (subschema for key, subschema in dependent.items() if key in instance)
    for keyword in ("allOf", "oneOf", "anyOf"):
        for subschema in schema.get(keyword, ()):
            if _holds(validator, instance, subschema):
                yield subschema
    if "if" in schema:
        met = _holds(validator, instance, schema["if"])
        yield from (schema[keyword] for keyword in (IF_MET if met else IF_NOT) if keyword in schema)


IF_MET = ("if", "then")
IF_NOT = ("else",)


def _holds(validator: Any, instance: Any, schema: Any) -> bool:
    return next(validator.descend(instance, schema), None) is None


def _unexpected(kind: str, key: str) -> ValidationError:
    return ValidationError(f"{key!r} is unexpected: no {kind} properties are allowed", path=(key,))


KEYWORDS: Mapping[str, Any] = {
    "pattern": pattern,
    "patternProperties": pattern_properties,
    "additionalProperties": additional_properties,
    "unevaluatedProperties": unevaluated_properties,
    "uniqueItems": unique_items,
}
