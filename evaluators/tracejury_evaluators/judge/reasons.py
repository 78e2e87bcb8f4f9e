"""Why a judge is not asked: what a trace or a case must hold for its question to make sense."""

from __future__ import annotations

from collections.abc import Mapping

from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import missing_output, output_spans, unseen_tool_calls


def unanswered(trace: Trace) -> Skip | Score | None:
    """A skip where the answer cannot be seen, zero where there is none; None where it is there."""
    skip = missing_output(trace)
    if skip is not None or trace.output_text.strip():
        return skip
    return Score(0.0, "fail", reason="the output is empty", evidence=output_spans(trace))


def no_question(trace: Trace, case: Mapping[str, str]) -> Skip | None:
    """A skip where it is not known what was asked."""
    if case.get("question") or trace.input_text.strip():
        return None
    if trace.flags.not_captured:
        return Skip("the question was not captured")
    return Skip("no question is given, and the trace has no input")


def not_given(case: Mapping[str, str], *names: str) -> Skip | None:
    """A skip where the case has none of these texts."""
    if any(case.get(name) for name in names):
        return None
    return Skip(f"no {' or '.join(names)} is given, neither in the config nor in the criteria")


def unseen_work(trace: Trace) -> Skip | None:
    """A skip where neither messages nor calls of tools show what the agent did."""
    if trace.tool_calls or trace.messages:
        return None
    return unseen_tool_calls(trace) or missing_output(trace)
