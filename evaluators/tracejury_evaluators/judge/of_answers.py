"""Judges of the final answer: correct, supported, relevant, the task done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import missing_output
from tracejury_evaluators.judge.base import LLMEvaluator
from tracejury_evaluators.judge.criteria import JudgeCriteria, Text
from tracejury_evaluators.judge.reasons import no_question, not_given, unanswered
from tracejury_evaluators.judge.variables import context_text


class LLMCorrectness(LLMEvaluator[JudgeCriteria]):
    """Asks a model whether the answer says what the reference answer says.

    Wording and order do not count; facts that differ or are missing do. An empty answer is 0
    without asking. Skipped where no reference is given, and where the answer was not captured.
    """

    type: ClassVar[str] = "llm-correctness"
    label: ClassVar[str] = "LLM correctness"
    default_template: ClassVar[str] = "correctness"

    def _without_asking(
        self, trace: Trace, _criteria: JudgeCriteria, case: Mapping[str, str]
    ) -> Skip | Score | None:
        return not_given(case, "reference_answer") or unanswered(trace)


class ContextOfCase(JudgeCriteria):
    """What the answer of one case may rest on."""

    context: Text | None = Field(
        default=None, description="what the answer may rest on; else documents and tool outputs"
    )


class LLMFaithfulness(LLMEvaluator[ContextOfCase]):
    """Asks a model whether everything the answer claims is supported by what the agent had.

    That is the retrieved documents and what the tools returned, or the criteria's `context`;
    world knowledge does not count. Misses are the claims without support. Skipped where there
    is nothing that could support an answer, and where there is no answer.
    """

    type: ClassVar[str] = "llm-faithfulness"
    label: ClassVar[str] = "LLM faithfulness"
    default_template: ClassVar[str] = "faithfulness"

    def _without_asking(
        self, trace: Trace, _criteria: ContextOfCase, case: Mapping[str, str]
    ) -> Skip | Score | None:
        skip = missing_output(trace)
        if skip is not None:
            return skip
        if not trace.output_text.strip():
            return Skip("the output is empty, so it claims nothing")
        if case.get("context") or context_text(trace):
            return None
        return Skip("the trace has neither documents nor outputs of tools, and no context is given")


class LLMRelevance(LLMEvaluator[JudgeCriteria]):
    """Asks a model whether the answer is about what was asked, all of it and nothing else.

    Whether it is true does not count. An empty answer is 0 without asking. Skipped where the
    question or the answer was not captured.
    """

    type: ClassVar[str] = "llm-relevance"
    label: ClassVar[str] = "LLM relevance"
    default_template: ClassVar[str] = "relevance"

    def _without_asking(
        self, trace: Trace, _criteria: JudgeCriteria, case: Mapping[str, str]
    ) -> Skip | Score | None:
        return no_question(trace, case) or unanswered(trace)


class LLMTaskCompletion(LLMEvaluator[JudgeCriteria]):
    """Asks a model whether the agent did what it was asked to do, by its deeds and its words.

    Tool calls show what was really done; an answer that only claims it is not enough. With an
    expected outcome, that is what must have come about. Skipped where the task is not known or
    the answer was not captured.
    """

    type: ClassVar[str] = "llm-task-completion"
    label: ClassVar[str] = "LLM task completion"
    default_template: ClassVar[str] = "task-completion"

    def _without_asking(
        self, trace: Trace, _criteria: JudgeCriteria, case: Mapping[str, str]
    ) -> Skip | Score | None:
        return no_question(trace, case) or missing_output(trace)
