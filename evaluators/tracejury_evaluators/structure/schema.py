"""Whether an answer conforms to a JSON Schema."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from pydantic import Field, field_validator

from tracejury.evaluator import Criteria
from tracejury.result import Score, Skip
from tracejury_evaluators.schemas import (
    MAX_VIOLATIONS,
    CompiledSchema,
    TooManySteps,
    Violation,
    compile_schema,
)
from tracejury_evaluators.structure.base import MAX_MISSES, JsonEvaluator, JudgeData

Schema = dict[str, Any] | bool


class SchemaCriteria(Criteria):
    """The schema of one case."""

    schema_: Schema | None = Field(
        default=None, alias="schema", description="the JSON Schema, draft 3 to 2020-12"
    )

    @field_validator("schema_")
    @classmethod
    def _is_schema(cls, schema: Schema | None) -> Schema | None:
        return schema if schema is None else _checked(schema)


class JsonSchema(JsonEvaluator[SchemaCriteria]):
    """Passes if the answer is JSON that conforms to a schema.

    The dialect is the one that `$schema` names, draft 2020-12 without one. References are
    resolved inside the schema only: nothing is ever fetched. An answer that conforms in part
    gets the share of the schema's properties that no violation is about, and is `partial`; a
    violation of the object as a whole makes it 0. The answer is nested no deeper than 64
    levels. Skipped where no schema is given, where checking takes too many steps, where the
    answer was not captured, and where it was truncated or redacted and does not conform.
    """

    type: ClassVar[str] = "json-schema"
    label: ClassVar[str] = "JSON Schema"
    version: ClassVar[int] = 2

    schema_: Schema | None = Field(
        default=None, alias="schema", description="the JSON Schema, draft 3 to 2020-12"
    )
    partial_credit: bool = Field(
        default=True, description="false: an answer that does not conform gets 0"
    )
    formats: bool = Field(default=False, description="true: `format` asserts")

    @field_validator("schema_")
    @classmethod
    def _is_schema(cls, schema: Schema | None) -> Schema | None:
        return schema if schema is None else _checked(schema)

    @cached_property
    def _own(self) -> CompiledSchema | None:
        return None if self.schema_ is None else compile_schema(self.schema_, formats=self.formats)

    def judge_for(self, criteria: SchemaCriteria) -> JudgeData | Skip:
        if criteria.schema_ is not None:
            schema: CompiledSchema | None = compile_schema(criteria.schema_, formats=self.formats)
        else:
            schema = self._own
        if schema is None:
            return Skip("no schema is given, neither in the config nor in the criteria")
        return lambda data: self._conforming(data, schema)

    def _conforming(self, data: Any, schema: CompiledSchema) -> Score | Skip:
        try:
            found = schema.violations(data)
        except TooManySteps as error:
            return Skip(str(error))
        if not found:
            return Score(1.0, "pass", "the output conforms to the schema")
        credit = _credit(found, schema.properties) if self.partial_credit else 0.0
        return Score(
            credit,
            "partial" if credit > 0 else "fail",
            found[0].text if len(found) == 1 else f"{_number(found)} violations: {found[0].text}",
            misses=[violation.text for violation in found[:MAX_MISSES]],
            details={"violations": len(found)},
        )


def _checked(schema: Schema) -> Schema:
    compile_schema(schema)
    return schema


def _credit(found: Sequence[Violation], named: frozenset[str]) -> float:
    """1 minus the share of properties to blame; 0 where a violation is no property's.

    Properties that the schema does not name count once they are to blame.
    """
    if len(found) >= MAX_VIOLATIONS or not all(violation.properties for violation in found):
        return 0.0
    failing = {name for violation in found for name in violation.properties}
    return 1.0 - len(failing) / len(named | failing)


def _number(found: Sequence[Violation]) -> str:
    return f"at least {MAX_VIOLATIONS}" if len(found) >= MAX_VIOLATIONS else str(len(found))
