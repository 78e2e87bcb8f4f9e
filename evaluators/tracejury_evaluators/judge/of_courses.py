"""Judges of the way to the answer: which tools were chosen, and the course of the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import unseen_tool_calls
from tracejury_evaluators.judge.base import LLMEvaluator
from tracejury_evaluators.judge.criteria import JudgeCriteria, Text
from tracejury_evaluators.judge.reasons import no_question
from tracejury_evaluators.judge.variables import as_text, tools_text


class ToolsOfCase(JudgeCriteria):
    """The tools that one case calls for."""

    expected_tools: list[str] | None = Field(
        default=None, max_length=1000, description="tools that the task calls for"
    )

    def texts(self) -> dict[str, str]:
        """The texts that are given, the expected tools as a JSON list."""
        given = super().texts()
        return given | (
            {"expected_tools": as_text(self.expected_tools)} if self.expected_tools else {}
        )


class LLMToolChoice(LLMEvaluator[ToolsOfCase]):
    """Asks a model whether the agent chose the right tools, with the right arguments.

    It is told the task, the tools that were offered and the calls that were made. Calling no
    tool is judged too where tools were offered or expected. Skipped where tool calls cannot be
    seen, and where no tool was called, offered or expected.
    """

    type: ClassVar[str] = "llm-tool-choice"
    label: ClassVar[str] = "LLM tool choice"
    default_template: ClassVar[str] = "tool-choice"

    def _without_asking(
        self, trace: Trace, _criteria: ToolsOfCase, case: Mapping[str, str]
    ) -> Skip | Score | None:
        skip = unseen_tool_calls(trace) or no_question(trace, case)
        if skip is not None:
            return skip
        if trace.tool_calls or tools_text(trace) or case.get("expected_tools"):
            return None
        return Skip("no tool was called, offered or expected")


class CourseOfCase(JudgeCriteria):
    """The course that one case calls for."""

    reference_trajectory: list[str] | Text | None = Field(
        default=None, description="a course known to be good: steps in order, or words"
    )

    def texts(self) -> dict[str, str]:
        """The texts that are given, a list of steps as a JSON list."""
        given = super().texts()
        steps = self.reference_trajectory
        return given | ({"reference_trajectory": as_text(steps)} if steps else {})


class LLMTrajectory(LLMEvaluator[CourseOfCase]):
    """Asks a model whether the course of the run makes sense: progress, order, no detours.

    It is told the messages and tool calls in their order. With a reference trajectory, the
    course is held against it; other ways that are as good count as good. Skipped where the
    steps cannot be seen, and where the task is not known.
    """

    type: ClassVar[str] = "llm-trajectory"
    label: ClassVar[str] = "LLM trajectory"
    default_template: ClassVar[str] = "trajectory"

    def _without_asking(
        self, trace: Trace, _criteria: CourseOfCase, case: Mapping[str, str]
    ) -> Skip | Score | None:
        skip = unseen_tool_calls(trace) or no_question(trace, case)
        if skip is not None:
            return skip
        if trace.tool_calls or len(trace.messages) > 1:
            return None
        return Skip("the trace shows no steps: neither messages nor calls of tools")
