"""When the arguments of a tool call are those expected."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from tracejury.evaluator.names import WithAliases
from tracejury_evaluators.patterns import Pattern, compiled, encoded
from tracejury_evaluators.schemas import CompiledSchema, compile_schema
from tracejury_evaluators.tools.values import Closeness, closeness_of, same

ArgsMode = Literal["exact", "ignore", "superset", "subset"]


def _usable(schema: dict[str, Any] | bool) -> dict[str, Any] | bool:
    compile_schema(schema)
    return schema


class ArgsRule(WithAliases):
    """How the arguments of a call are compared with those expected.

    `mode` is said from the call's side: `superset` lets it have arguments beyond those expected,
    `subset` lets it leave some out; both look at the top level, the values are compared whole.
    `fields` compares these arguments alone, where a missing one is null. Numbers may differ by
    the tolerances at any depth. `patterns` and `schema` are asked of the call whatever was
    expected.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True
    )
    aliases: ClassVar[Mapping[str, str]] = {"tolerance": "abs_tolerance"}

    mode: ArgsMode = "exact"
    fields: tuple[str, ...] | None = None
    abs_tolerance: float = Field(default=0.0, ge=0)
    rel_tolerance: float = Field(default=0.0, ge=0, le=1)
    patterns: dict[str, Pattern] = Field(default={})
    schema_: Annotated[dict[str, Any] | bool, AfterValidator(_usable)] | None = Field(
        default=None, alias="schema"
    )

    @model_validator(mode="after")
    def _mode_or_fields(self) -> ArgsRule:
        if self.fields is not None and self.mode != "exact":
            raise ValueError(
                f"fields already say what is compared; leave out mode {self.mode!r} or fields"
            )
        return self


ArgsMatch = ArgsMode | list[str] | ArgsRule
"""A rule, or short for one: its mode, or the list of its fields."""

Agrees = Callable[[Any, Any], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgsMatcher:
    """A rule made ready: `agrees` compares expected arguments with a call's.

    `compares` is false where expected arguments are not looked at, `asks` is true where a call's
    are looked at whatever was expected.
    """

    agrees: Agrees
    compares: bool
    patterns: tuple[tuple[str, Any], ...]
    schema: CompiledSchema | None

    @property
    def asks(self) -> bool:
        return bool(self.patterns) or self.schema is not None

    def matches(self, expected: Any, arguments: Any) -> bool:
        """Whether a call with these arguments is the one expected; None expects none of its own."""
        if expected is not None and not self.agrees(expected, arguments):
            return False
        for name, expression in self.patterns:
            if not _found(expression, arguments, name):
                return False
        return self.schema is None or not self.schema.violations(arguments, limit=1)


def matcher(match: ArgsMatch) -> ArgsMatcher:
    """The rule made ready: patterns and schema are compiled once."""
    rule = _rule(match)
    return ArgsMatcher(
        agrees=_comparison(rule),
        compares=rule.mode != "ignore",
        patterns=tuple((name, compiled(pattern)) for name, pattern in rule.patterns.items()),
        schema=None if rule.schema_ is None else compile_schema(rule.schema_),
    )


def _rule(match: ArgsMatch) -> ArgsRule:
    if isinstance(match, ArgsRule):
        return match
    return ArgsRule(mode=match) if isinstance(match, str) else ArgsRule(fields=tuple(match))


def _comparison(rule: ArgsRule) -> Agrees:
    closeness = closeness_of(rule.abs_tolerance, rule.rel_tolerance)
    if rule.fields is not None:
        return _of_fields(rule.fields, closeness)
    return {
        "exact": lambda expected, given: same(expected, given, closeness),
        "ignore": lambda _expected, _given: True,
        "superset": lambda expected, given: _within(expected, given, closeness),
        "subset": lambda expected, given: _within(given, expected, closeness),
    }[rule.mode]


def _of_fields(fields: tuple[str, ...], closeness: Closeness) -> Agrees:
    def agrees(expected: Any, given: Any) -> bool:
        if not isinstance(expected, Mapping) or not isinstance(given, Mapping):
            return same(expected, given, closeness)
        return all(same(expected.get(name), given.get(name), closeness) for name in fields)

    return agrees


def _within(inner: Any, outer: Any, closeness: Closeness) -> bool:
    if not isinstance(inner, Mapping) or not isinstance(outer, Mapping):
        return same(inner, outer, closeness)
    return all(name in outer and same(inner[name], outer[name], closeness) for name in inner)


def _found(expression: Any, arguments: Any, name: str) -> bool:
    """Whether a pattern matches an argument; what is no text is taken as JSON."""
    if not isinstance(arguments, Mapping) or name not in arguments:
        return False
    value = arguments[name]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return expression.search(encoded(text)) is not None
