"""Whether tools gave back what was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from tracejury.dialects.decode import to_text
from tracejury.evaluator import Criteria, Evaluator
from tracejury.evaluator.names import WithAliases
from tracejury.result import Score, Skip
from tracejury.trace import ToolCall, Trace
from tracejury_evaluators.facts import altered_output, unseen_tool_calls
from tracejury_evaluators.json_text import parse
from tracejury_evaluators.patterns import compiled, encoded
from tracejury_evaluators.tools.fields import (
    MAX_EXPECTED,
    Counted,
    Scoring,
    Spelling,
    Threshold,
)
from tracejury_evaluators.tools.matching import called, rows_of, shown
from tracejury_evaluators.tools.occurrences import Occurrence, judged
from tracejury_evaluators.tools.selection import spelled
from tracejury_evaluators.tools.values import same

Compare = Literal["exact", "contains", "regex", "json"]


class ExpectedOutput(WithAliases):
    """A tool and what a call of it gives back."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    output: Any


ExpectedOutputs = Annotated[
    list[ExpectedOutput] | None,
    Field(
        max_length=MAX_EXPECTED,
        description="the outputs expected: objects of `name` (of the tool) and `output`",
    ),
]


class OutputCriteria(Criteria):
    """The outputs that one case expects."""

    aliases: ClassVar[Mapping[str, str]] = {"tool_outputs": "expected", "toolOutputs": "expected"}

    expected: ExpectedOutputs = None


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """An expected output: its tool as names are compared, and how a call's is compared with it."""

    name: str
    output: Any
    expression: Any = None

    @cached_property
    def text(self) -> str:
        return f"{self.name}: {shown('', self.output)[1:-1]}"


class ToolOutput(Evaluator[OutputCriteria]):
    """Passes if the tools gave back what was expected; the value is the share of outputs met.

    Order and other calls do not count. `occurrence` says which calls of the tool are looked at,
    as in `tool-args`. `compare`: `exact` takes text as it is, and anything else as data;
    `contains` looks for a text in it; `regex` is a pattern searched in it; `json` compares data,
    where 1 is 1.0 and the order of keys is free. With `field`, of an output that is an object
    that field alone is looked at. A call that failed has no output. No expected outputs at all
    is 1.0. Skipped where nothing says what is expected, where calls could not be seen, and where
    outputs that were not recorded, or not as they were, decide.
    """

    type: ClassVar[str] = "tool-output"
    label: ClassVar[str] = "Tool outputs"
    aliases: ClassVar[Mapping[str, str]] = OutputCriteria.aliases

    expected: ExpectedOutputs = None
    compare: Compare = Field(default="exact", description="how an output is compared")
    field: str | None = Field(
        default=None, description="the field of the output that is looked at; null: all of it"
    )
    occurrence: Occurrence = "any"
    score: Scoring = "graded"
    threshold: Threshold = 1.0
    calls: Counted = "asked"
    names: Spelling = "exact"

    @model_validator(mode="after")
    def _patterns_compile(self) -> ToolOutput:
        self._wanted(self.expected or ())
        return self

    @cached_property
    def _own(self) -> Sequence[Wanted]:
        return self._wanted(self.expected or ())

    def _wanted(self, expected: Sequence[ExpectedOutput]) -> Sequence[Wanted]:
        names = spelled([output.name for output in expected], self.names)
        return [
            Wanted(
                name=name,
                output=_data(entry.output) if self.compare == "json" else entry.output,
                expression=compiled(to_text(entry.output)) if self.compare == "regex" else None,
            )
            for name, entry in zip(names, expected, strict=True)
        ]

    def evaluate(self, trace: Trace, criteria: OutputCriteria) -> Score | Skip:
        if criteria.expected is None and self.expected is None:
            return Skip("no expected outputs are given, neither in the config nor in the criteria")
        skip = unseen_tool_calls(trace)
        if skip is not None:
            return skip
        wanted = self._own if criteria.expected is None else self._wanted(criteria.expected)
        made = called(trace.tool_calls, self.calls, self.names, altered_output(trace))
        rows = rows_of(wanted, made, self._fits)
        return judged(rows, wanted, made, self.occurrence, self.score, "outputs")

    def _fits(self, want: Wanted, call: ToolCall) -> bool | None:
        """Whether a call gave back what was expected; None where that was not recorded."""
        if call.output is None:
            return None if call.error is None else False
        output, text = call.output, call.output_text
        if self.field is not None and isinstance(output, Mapping):
            if self.field not in output:
                return False
            output = output[self.field]
            text = to_text(output)
        return self._equal(want, output, text)

    def _equal(self, want: Wanted, output: Any, text: str) -> bool:
        if want.expression is not None:
            return want.expression.search(encoded(text)) is not None
        if self.compare == "contains":
            return to_text(want.output) in text
        if self.compare == "exact" and isinstance(want.output, str):
            return bool(want.output == text)
        return same(want.output, _data(output))


def _data(value: Any) -> Any:
    """The data behind a JSON text; what is none stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except ValueError:
        return value
