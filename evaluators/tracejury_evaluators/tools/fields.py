"""Config and criteria fields that the evaluators of tool calls have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from tracejury.evaluator.names import WithAliases
from tracejury_evaluators.tools.arguments import ArgsMatch

MAX_EXPECTED = 1_000

Counted = Annotated[
    Literal["asked", "ran", "succeeded"],
    Field(description="which calls count: all asked for, those that ran, or those that succeeded"),
]
Spelling = Annotated[
    Literal["exact", "sanitized"],
    Field(description="how names are compared: as they are, or as model providers allow them"),
]
Scoring = Annotated[
    Literal["graded", "boolean"],
    Field(description="graded: the value is a share; boolean: it is 1 or 0"),
]
Threshold = Annotated[float, Field(ge=0, le=1, description="value from which the case passes")]
ToolNames = Annotated[list[str] | None, Field(description="names of the tools expected")]


class ExpectedCall(WithAliases):
    """A call that is expected: its tool, and its arguments where they are given."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    aliases: ClassVar[Mapping[str, str]] = {"arguments": "args"}

    name: str
    args: Any = None


ExpectedCalls = Annotated[
    list[str | ExpectedCall] | None,
    Field(
        max_length=MAX_EXPECTED,
        description="the calls expected: names, or objects of `name` and `args`",
    ),
]
DefaultRule = Annotated[
    ArgsMatch,
    Field(
        description="how arguments are compared: `exact`, `ignore`, `superset`, `subset`, a "
        "list of the fields compared, or [a rule](#rules-for-arguments)"
    ),
]
ToolRules = dict[str, ArgsMatch]
TOOLS = "the same for single tools, by their name"
