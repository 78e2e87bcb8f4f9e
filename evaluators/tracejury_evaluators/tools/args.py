"""Whether tools were called with the arguments expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from pydantic import Field

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import altered_output, unseen_tool_calls
from tracejury_evaluators.tools.fields import (
    TOOLS,
    Counted,
    DefaultRule,
    ExpectedCall,
    ExpectedCalls,
    Scoring,
    Spelling,
    Threshold,
    ToolRules,
)
from tracejury_evaluators.tools.matching import (
    Rules,
    Wanted,
    arguments_fit,
    called,
    rows_of,
    rules_of,
    wanted_calls,
)
from tracejury_evaluators.tools.occurrences import Occurrence, judged


class ArgsCriteria(Criteria):
    """The calls that one case expects."""

    aliases: ClassVar[Mapping[str, str]] = {"tool_calls": "expected", "toolCalls": "expected"}

    expected: ExpectedCalls = None


class ToolArgs(Evaluator[ArgsCriteria]):
    """Passes if each expected call was made with the arguments expected; the value is their share.

    Order and other calls do not count. `occurrence` says which calls of the tool are looked at:
    `any` takes for each expected call one that fits, no call twice, and of all ways to pair them
    the best; `first` and `last` look at that call of the tool alone; `nth` compares the second
    expected call of a tool with the second made, and so on; `all` asks every call of the tool.
    How arguments are compared is said by `args`, for single tools by `tools`. Where no calls are
    expected by name, each of `tools` is expected once, for its patterns and schema.

    No expected calls at all is 1.0. Skipped where nothing says what is expected, where calls
    could not be seen, and where arguments that were not recorded, or not as they were, decide.
    """

    type: ClassVar[str] = "tool-args"
    label: ClassVar[str] = "Tool arguments"
    aliases: ClassVar[Mapping[str, str]] = ArgsCriteria.aliases

    expected: ExpectedCalls = None
    args: DefaultRule = "exact"
    tools: ToolRules = Field(default={}, description=TOOLS)
    occurrence: Occurrence = "any"
    score: Scoring = "graded"
    threshold: Threshold = 1.0
    calls: Counted = "asked"
    names: Spelling = "exact"

    @cached_property
    def _rules(self) -> Rules:
        return rules_of(self.args, self.tools, self.names)

    @cached_property
    def _own(self) -> Sequence[Wanted] | None:
        if self.expected is None:
            return self._wanted(list(self.tools)) if self.tools else None
        return self._wanted(self.expected)

    def _wanted(self, expected: Sequence[str | ExpectedCall]) -> Sequence[Wanted]:
        return wanted_calls(expected, self._rules, self.names)

    def evaluate(self, trace: Trace, criteria: ArgsCriteria) -> Score | Skip:
        wanted = self._own if criteria.expected is None else self._wanted(criteria.expected)
        if wanted is None:
            return Skip("no expected calls are given, neither in the config nor in the criteria")
        skip = unseen_tool_calls(trace)
        if skip is not None:
            return skip
        made = called(trace.tool_calls, self.calls, self.names, altered_output(trace))
        rows = rows_of(wanted, made, arguments_fit)
        return judged(rows, wanted, made, self.occurrence, self.score, "arguments")
