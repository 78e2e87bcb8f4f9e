"""Evaluators of the agent's final answer as data."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, NoReturn

from jsonschema import Draft202012Validator, SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from pydantic import Field, field_validator
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import altered_output, missing_output, output_spans

MAX_DEPTH = 64
MAX_ERRORS = 20
MAX_MESSAGE_CHARS = 200


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


class JsonSchema(Evaluator):
    """Passes if the answer is JSON that conforms to a schema.

    The dialect is the one that `$schema` names, draft 2020-12 without one. References are
    resolved inside the schema only: nothing is ever fetched. The answer must be JSON as a
    whole: not in a code fence, no NaN, nested no deeper than 64 levels. Skipped where the
    answer was not captured, and where it was truncated or redacted and does not conform.
    """

    type: ClassVar[str] = "json-schema"
    label: ClassVar[str] = "JSON Schema"

    schema_: dict[str, Any] | bool = Field(
        alias="schema", description="the JSON Schema, draft 3 to 2020-12"
    )

    @field_validator("schema_")
    @classmethod
    def _is_schema(cls, schema: dict[str, Any] | bool) -> dict[str, Any] | bool:
        if depth(schema) > MAX_DEPTH:
            raise ValueError(f"the schema is nested deeper than {MAX_DEPTH} levels")
        try:
            validator_for(schema, default=Draft202012Validator).check_schema(schema)  # type: ignore[arg-type]  # a bool is a schema
        except SchemaError as error:
            raise ValueError(f"this is no JSON Schema: {_located(error)}") from None
        return schema

    @cached_property
    def _validator(self) -> Validator:
        validator = validator_for(self.schema_, default=Draft202012Validator)
        return validator(self.schema_, registry=EMPTY_REGISTRY)

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score | Skip:
        skip = missing_output(trace)
        if skip is not None:
            return skip
        misses = self._misses(trace.output_text)
        if not misses:
            return Score(1.0, reason="the output conforms to the schema")
        if altered := altered_output(trace):
            return Skip(f"the recorded content was {altered} and does not conform: {misses[0]}")
        return Score(
            0.0,
            reason=misses[0] if len(misses) == 1 else f"{len(misses)} violations: {misses[0]}",
            misses=misses,
            evidence=output_spans(trace),
        )

    def _misses(self, text: str) -> list[str]:
        try:
            data = parse(text)
        except ValueError as error:
            return [f"the output is no JSON: {error}"]
        if text.count("[") + text.count("{") > MAX_DEPTH and depth(data) > MAX_DEPTH:
            return [f"the output is nested deeper than {MAX_DEPTH} levels"]
        try:
            errors = list(islice(self._validator.iter_errors(data), MAX_ERRORS))
        except Unresolvable as error:
            raise ValueError(
                f"schema: the reference {error.ref!r} is not inside the schema; "
                "references elsewhere are never fetched, so copy what it names into $defs"
            ) from error
        return [_located(error) for error in errors]


def parse(text: str) -> Any:
    """The data that a JSON text holds.

    Raises: ValueError where it is no JSON, or nested too deep to be read.
    """
    if not text.strip():
        raise ValueError("it is empty")
    try:
        return DECODER.decode(text)
    except RecursionError:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels") from None


def depth(value: Any, limit: int = MAX_DEPTH) -> int:
    """How many levels of arrays and objects the data has, counted to one past `limit`."""
    level = 0
    row = [value]
    while level <= limit and (nested := [item for item in row if isinstance(item, (list, dict))]):
        level += 1
        row = [child for item in nested for child in _children(item)]
    return level


def _children(item: list[Any] | dict[str, Any]) -> Iterable[Any]:
    return item.values() if isinstance(item, dict) else item


def _located(error: ValidationError | SchemaError) -> str:
    message = error.message
    if len(message) > MAX_MESSAGE_CHARS:
        message = f"{message[: MAX_MESSAGE_CHARS - 1]}…"
    return f"{error.json_path}: {message}"


EVALUATORS: tuple[type[Evaluator[Any]], ...] = (JsonSchema,)
