"""JSON Schemas, made ready to check data that nobody vouches for.

Nothing is ever fetched, patterns take linear time, and what is wrong with a schema is said when
it is made ready, not when it is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import attrs
from jsonschema import Draft202012Validator, SchemaError, ValidationError
from jsonschema.validators import extend, validator_for
from jsonschema_specifications import REGISTRY as DIALECTS  # type: ignore[import-untyped]
from referencing import Registry, Resource, Specification
from referencing.exceptions import Unresolvable
from referencing.jsonschema import specification_with

from tracejury_evaluators.json_text import MAX_DEPTH, depth
from tracejury_evaluators.schema_formats import FORMATS
from tracejury_evaluators.schema_keywords import KEYWORDS
from tracejury_evaluators.schema_patterns import PatternProblem, compiled
from tracejury_evaluators.schema_steps import (
    STEPS_PER_OBJECT,
    Steps,
    TooManySteps,
    counted,
    counted_descent,
    counted_values,
    objects,
    spending,
)

MAX_VIOLATIONS = 1_000
MAX_MESSAGE_CHARS = 200
MAX_SCHEMA_CHARS = 200_000
MAX_OBJECTS = 4_000
DEFAULT_DIALECT = "https://json-schema.org/draft/2020-12/schema"
REFERENCES = ("$ref", "$dynamicRef")
VALUES = ("const", "enum")


class SchemaProblem(ValueError):
    """A schema that cannot be used; the message says why and what would help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One way in which data does not conform.

    `path` is a JSONPath, such as `$.items[0].name`; `properties` are the properties of the root
    object that are to blame, none where the data as a whole is.
    """

    path: str
    message: str
    keyword: str
    properties: tuple[str, ...]

    @property
    def text(self) -> str:
        """The place and what is wrong there."""
        return f"{self.path}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledSchema:
    """A schema ready for use; `properties` are those that its root names.

    `steps` is what making it ready took, whether or not it was kept.
    """

    properties: frozenset[str]
    validator: Any
    steps: int

    def violations(
        self, data: Any, limit: int = MAX_VIOLATIONS, steps: Steps | None = None
    ) -> list[Violation]:
        """The first `limit` ways in which the data does not conform; none where it does.

        `data` is nested no deeper than 64 levels. `steps` are those that several checks share.
        Raises: SchemaProblem where the schema refers to itself without end, TooManySteps where
        the check takes more than there are.
        """
        try:
            with spending(steps or Steps()):
                errors = islice(self.validator.iter_errors(data), limit)
                return [_violation(error) for error in errors]
        except RecursionError:
            raise SchemaProblem(
                "the schema refers to itself without end; let a reference stand inside "
                "`properties` or `items`"
            ) from None


def compile_schema(schema: object, *, formats: bool = False) -> CompiledSchema:
    """The schema, checked and ready for use; `formats` makes `format` assert.

    The dialect is the one that `$schema` names at the root, draft 2020-12 without one. Schemas
    that were made ready lately are kept.
    Raises: SchemaProblem where it is no JSON Schema, is too large or too deep, refers to something
    outside itself, or holds a pattern that RE2 does not take.
    """
    if depth(schema) > MAX_DEPTH:
        raise SchemaProblem(f"the schema is nested deeper than {MAX_DEPTH} levels")
    try:
        text = json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SchemaProblem(f"this is no JSON Schema: {error}") from None
    if len(text) > MAX_SCHEMA_CHARS:
        raise SchemaProblem(f"the schema is longer than {MAX_SCHEMA_CHARS} characters")
    if text.count("{") > MAX_OBJECTS and objects(schema) > MAX_OBJECTS:
        raise SchemaProblem(f"the schema holds more than {MAX_OBJECTS} objects")
    return _compiled(text, formats)


@lru_cache(maxsize=128)
def _compiled(text: str, formats: bool) -> CompiledSchema:
    schema = json.loads(text)
    if not isinstance(schema, (dict, bool)):
        raise SchemaProblem(f"a JSON Schema is an object, true or false, not {text[:80]}")
    dialect = _dialect(schema)
    _check(schema, dialect)
    validator = _validator(schema, dialect, formats)
    _check_parts(_resource(schema), validator._resolver)
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return CompiledSchema(
        properties=frozenset(properties),
        validator=validator,
        steps=STEPS_PER_OBJECT * objects(schema),
    )


def _validator(schema: Any, dialect: Any, formats: bool) -> Any:
    resource = _resource(schema)
    base = resource.id() or ""
    # what is not crawled here would be crawled anew for every reference to a name
    registry: Registry[Any] = DIALECTS.with_resource(base, resource).crawl()
    return _linear(dialect)(
        schema,
        registry=registry,
        _resolver=registry.resolver(base),
        format_checker=FORMATS if formats else None,
    )


def _dialect(schema: dict[str, Any] | bool) -> Any:
    named = schema.get("$schema", DEFAULT_DIALECT) if isinstance(schema, dict) else DEFAULT_DIALECT
    opaque: Specification[Any] = Specification.OPAQUE
    if not isinstance(named, str) or specification_with(named, default=opaque) is opaque:
        raise SchemaProblem(
            f"the dialect {str(named)[:100]!r} is unknown; name one from draft 3 to 2020-12 "
            f"in $schema, such as {DEFAULT_DIALECT!r}"
        )
    return validator_for({"$schema": named}, default=Draft202012Validator)


def _check(schema: dict[str, Any] | bool, dialect: Any) -> None:
    """Check the schema against its dialect; patterns are left to RE2."""
    error = next(_linear(dialect)(dialect.META_SCHEMA).iter_errors(schema), None)
    if error is not None:
        raise SchemaProblem(f"this is no JSON Schema: {_violation(error).text}")


@lru_cache(maxsize=16)
def _linear(dialect: Any) -> Any:
    """The library's validator of a dialect with our keywords in place of its own.

    Subschemas are left with the same validator even where they name a dialect, because the
    library would give them one of its own.
    """
    keywords = {name: KEYWORDS.get(name, own) for name, own in dialect.VALIDATORS.items()}
    keywords |= {name: counted_values(keywords[name]) for name in VALUES if name in keywords}
    keywords = {name: counted(keyword) for name, keyword in keywords.items()}
    validator: Any = extend(dialect, keywords)  # type: ignore[no-untyped-call]
    validator.evolve = attrs.evolve
    validator.descend = counted_descent(validator.descend)
    return validator


def _resource(schema: Any) -> Resource[Any]:
    named = schema.get("$schema") if isinstance(schema, dict) else None
    return specification_with(named or DEFAULT_DIALECT).create_resource(schema)


def _check_parts(resource: Resource[Any], resolver: Any) -> None:
    """Check that every pattern can be matched and every reference leads somewhere."""
    if isinstance(resource.contents, dict):
        for pattern in _patterns(resource.contents):
            _check_pattern(pattern)
        for keyword in REFERENCES:
            if keyword in resource.contents:
                _check_reference(str(resource.contents[keyword]), resolver)
    for part in resource.subresources():
        _check_parts(part, resolver.in_subresource(part))


def _patterns(schema: dict[str, Any]) -> Iterator[str]:
    if "pattern" in schema:
        yield schema["pattern"]
    yield from schema.get("patternProperties", ())


def _check_pattern(pattern: str) -> None:
    try:
        compiled(pattern)
    except PatternProblem as error:
        raise SchemaProblem(str(error)) from None


def _check_reference(reference: str, resolver: Any) -> None:
    try:
        resolver.lookup(reference)
    except Unresolvable:
        raise SchemaProblem(
            f"the reference {reference!r} is not inside the schema; "
            "references elsewhere are never fetched, so copy what it names into $defs"
        ) from None


def _violation(error: ValidationError | SchemaError) -> Violation:
    message = error.message
    if len(message) > MAX_MESSAGE_CHARS:
        message = f"{message[: MAX_MESSAGE_CHARS - 1]}…"
    return Violation(
        path=error.json_path,
        message=message,
        keyword=str(error.validator),
        properties=_to_blame(error),
    )


def _to_blame(error: ValidationError | SchemaError) -> tuple[str, ...]:
    path = error.absolute_path
    if path:
        return (path[0],) if isinstance(path[0], str) else ()
    given: Any = error.instance
    if error.validator == "required" and isinstance(error.validator_value, list):
        return tuple(name for name in error.validator_value if name not in given)
    return ()


__all__ = [
    "CompiledSchema",
    "SchemaProblem",
    "Steps",
    "TooManySteps",
    "Violation",
    "compile_schema",
]
