"""Whether tool calls failed."""

from __future__ import annotations

from typing import ClassVar

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import (
    call_error,
    call_spans,
    counted,
    did_run,
    missing_tool_calls,
)


class NoToolErrors(Evaluator):
    """Passes if no tool call failed; the value is the share of calls that did not.

    A call that was only asked for in a message, with no result recorded, has no known outcome
    and does not count. Skipped where no call has a known outcome, so also without any call: a
    trace that used no tool says nothing about its tools.
    """

    type: ClassVar[str] = "no-tool-errors"
    label: ClassVar[str] = "No tool errors"

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score | Skip:
        skip = missing_tool_calls(trace)
        if skip is not None:
            return skip
        known = [call for call in trace.tool_calls if did_run(call)]
        if not known:
            return Skip(
                f"{counted(len(trace.tool_calls), 'tool call')} asked for, no outcome recorded"
            )
        failed = [call for call in known if call.error is not None]
        if not failed:
            reason = f"{counted(len(known), 'tool call')}, none failed"
            return Score(1.0, "pass", reason, details={"calls": len(known), "errors": 0})
        return Score(
            1 - len(failed) / len(known),
            "fail",
            f"{len(failed)} of {counted(len(known), 'tool call')} failed: {call_error(failed[0])}",
            misses=[call_error(call) for call in failed],
            details={"calls": len(known), "errors": len(failed)},
            evidence=call_spans(failed),
        )
