"""Whether the agent went on after a tool had failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import ToolCall, Trace
from tracejury_evaluators.facts import (
    call_error,
    call_spans,
    counted,
    did_run,
    listed,
    missing_output,
    missing_tool_calls,
)

By = Literal["either", "same_tool", "answer"]


class ErrorRecovery(Evaluator):
    """Passes if the agent recovered from every tool call that failed; the value is their share.

    It recovered by `same_tool` if a later call of that tool succeeded, whatever its arguments;
    by `answer` if the last turn was answered and the run did not end in an error; by `either` if
    one of the two holds. An answer is any text that is not blank: whether it is right is for
    other evaluators. Skipped where no call failed, and where an answer may exist and was not
    recorded.
    """

    type: ClassVar[str] = "error-recovery"
    label: ClassVar[str] = "Error recovery"

    by: By = Field(default="either", description="what counts as having recovered")

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score | Skip:
        skip = missing_tool_calls(trace)
        if skip is not None:
            return skip
        calls = trace.tool_calls
        failed = [position for position, call in enumerate(calls) if call.error is not None]
        if not failed:
            return Skip(f"{counted(len(calls), 'tool call')}, none failed")
        repeated = set() if self.by == "answer" else _repeated_well(calls, failed)
        unrecovered = [position for position in failed if position not in repeated]
        if unrecovered and self.by != "same_tool":
            answered = _answered(trace)
            if isinstance(answered, Skip):
                return answered
            unrecovered = [] if answered else unrecovered
        return _scored(calls, failed, unrecovered)


def _repeated_well(calls: Sequence[ToolCall], failed: Sequence[int]) -> set[int]:
    """The failed calls after which a call of the same tool succeeded."""
    last_good = {
        call.name: position
        for position, call in enumerate(calls)
        if call.error is None and did_run(call)
    }
    return {position for position in failed if last_good.get(calls[position].name, -1) > position}


def _answered(trace: Trace) -> bool | Skip:
    """Whether the last turn was answered; a skip where that was not recorded."""
    output = trace.turns[-1].output if trace.turns else trace.output_text
    if output.strip():
        return not trace.has_error
    return missing_output(trace) or False


def _scored(calls: Sequence[ToolCall], failed: Sequence[int], unrecovered: Sequence[int]) -> Score:
    told = [call_error(calls[position]) for position in unrecovered]
    said = f"recovered from {len(failed) - len(told)} of {counted(len(failed), 'failed call')}"
    lost = set(unrecovered)
    return Score(
        1 - len(told) / len(failed),
        reason=f"{said}; not from {listed(told)}" if told else said,
        hits=[calls[position].name for position in failed if position not in lost],
        misses=told,
        details={"failed": len(failed), "unrecovered": len(told)},
        evidence=call_spans(calls[position] for position in unrecovered or failed),
    )
