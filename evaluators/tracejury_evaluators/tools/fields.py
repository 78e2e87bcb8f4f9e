"""Config and criteria fields that the evaluators of tool calls have in common."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

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
