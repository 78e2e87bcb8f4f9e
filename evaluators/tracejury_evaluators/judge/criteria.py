"""What a case may say to a judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, StringConstraints

from tracejury.evaluator import Criteria

MAX_CHARS = 100_000

Text = Annotated[str, StringConstraints(max_length=MAX_CHARS)]


class JudgeCriteria(Criteria):
    """What the answer is held against."""

    aliases: ClassVar[Mapping[str, str]] = {
        "expected_output": "reference_answer",
        "expectedOutput": "reference_answer",
        "expected_answer": "reference_answer",
        "expectedAnswer": "reference_answer",
        "reference": "reference_answer",
    }

    question: Text | None = Field(default=None, description="the question; else the trace's input")
    expected_outcome: Text | None = Field(
        default=None, description="what the answer should accomplish"
    )
    reference_answer: Text | None = Field(default=None, description="an answer known to be good")
    guideline: Text | None = Field(default=None, description="what else the judge should heed")
    expected_messages: list[dict[str, Any]] | None = Field(
        default=None, max_length=1000, description="messages that `{{output_messages}}` stands for"
    )

    def texts(self) -> dict[str, str]:
        """The texts that are given, by the names of their variables."""
        return {
            name: value.strip() for name, value in self if isinstance(value, str) and value.strip()
        }
