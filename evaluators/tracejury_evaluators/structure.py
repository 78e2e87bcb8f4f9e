"""Evaluators of the agent's final answer as data."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from pydantic import Field, field_validator

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import altered_output, missing_output, output_spans
from tracejury_evaluators.json_text import parse
from tracejury_evaluators.schemas import CompiledSchema, compile_schema

MAX_MISSES = 20


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
        compile_schema(schema)
        return schema

    @cached_property
    def _schema(self) -> CompiledSchema:
        return compile_schema(self.schema_)

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
        return [violation.text for violation in self._schema.violations(data, MAX_MISSES)]


EVALUATORS: tuple[type[Evaluator[Any]], ...] = (JsonSchema,)
