"""What a trace can say and what it cannot: the reasons to skip, and where the evidence is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from tracejury.result import Score, Skip
from tracejury.trace import LLMCall, ToolCall, Trace, Turn

RUN_KINDS = ("agent", "llm")
MAX_MESSAGE_CHARS = 200
ONLY_FINAL = "false: the answer of every turn is judged and the worst counts"
"""The meaning of a config field `only_final`, which the evaluators of answers share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the agent said: the final answer, or that of one turn.

    `altered` is how the text may differ from what was really said: "truncated", "redacted" or
    "". `evidence` names span ids.
    """

    text: str
    altered: str = ""
    evidence: tuple[str, ...] = ()


def missing_tool_calls(trace: Trace) -> Skip | None:
    """Why there are no tool calls to look at; None where there are some."""
    if trace.tool_calls:
        return None
    return unseen_tool_calls(trace) or Skip("the agent called no tool")


def unseen_tool_calls(trace: Trace) -> Skip | None:
    """Why tool calls may have been made and not be seen; None where all would be seen."""
    if trace.tool_calls:
        return None
    if trace.kind not in RUN_KINDS:
        return Skip(f"the trace is no run of an agent or a model (its kind is {trace.kind!r})")
    if trace.flags.not_captured:
        return Skip("message content was not captured, so tool calls cannot be seen")
    if any(_unrecorded(call) for call in trace.llm_calls):
        return Skip("a model's output was not recorded, so tool calls cannot be seen")
    return None


def missing_output(trace: Trace) -> Skip | None:
    """Why there is no output to look at; None where there is some, or where it is empty."""
    if trace.output_text.strip():
        return None
    if trace.kind not in RUN_KINDS:
        return Skip(f"the trace is no run of an agent or a model (its kind is {trace.kind!r})")
    if trace.flags.not_captured:
        return Skip("the output was not captured")
    if trace.flags.redacted:
        return Skip("the output was redacted")
    if trace.kind == "llm" and trace.tool_calls:
        return Skip("the model asked for a tool and gave no text")
    if trace.llm_calls and _unrecorded(trace.llm_calls[-1]):
        tokens = trace.llm_calls[-1].usage.output_tokens
        return Skip(f"the model's output of {tokens} tokens was not recorded")
    return None


def judged_answers(
    trace: Trace, judge: Callable[[Answer], Score | Skip], *, only_final: bool = True
) -> Score | Skip:
    """The judgement of the final answer, or the worst of those of every turn's answer.

    Skipped where an answer may exist and was not recorded. Of several turns, one that fails
    decides, whatever the others hold; else one that cannot be judged does.
    """
    if only_final or len(trace.turns) <= 1:
        return missing_output(trace) or judge(_final_answer(trace))
    return _worst([_judged_turn(trace, turn, judge) for turn in trace.turns])


def _final_answer(trace: Trace) -> Answer:
    evidence = tuple(output_spans(trace))
    return Answer(text=trace.output_text, altered=altered_output(trace), evidence=evidence)


def _judged_turn(trace: Trace, turn: Turn, judge: Callable[[Answer], Score | Skip]) -> Score | Skip:
    if not turn.output.strip() and trace.flags.not_captured:
        return Skip("the output was not captured")
    evidence = (turn.span_id,) if turn.span_id else ()
    return judge(Answer(text=turn.output, altered=altered_output(trace), evidence=evidence))


def _worst(outcomes: list[Score | Skip]) -> Score | Skip:
    """The outcome that decides, its reason naming the turn."""
    told = [
        replace(outcome, reason=f"turn {number} of {len(outcomes)}: {outcome.reason}")
        for number, outcome in enumerate(outcomes, 1)
    ]
    scores = [outcome for outcome in told if isinstance(outcome, Score)]
    worst = min(scores, key=lambda score: (score.verdict != "fail", score.value), default=None)
    skips = [outcome for outcome in told if isinstance(outcome, Skip)]
    if worst is None or (skips and worst.verdict != "fail" and worst.value > 0):
        return skips[0]
    return replace(worst, details={**worst.details, "turns": len(outcomes)})


def _unrecorded(call: LLMCall) -> bool:
    """Whether a model produced something of which nothing was recorded."""
    return not call.output and call.error is None and (call.usage.output_tokens or 0) > 0


def altered_output(trace: Trace) -> str:
    """How the recorded content may differ from the real one; "" where it does not."""
    if trace.flags.truncated:
        return "truncated"
    return "redacted" if trace.flags.redacted else ""


def call_spans(calls: Iterable[ToolCall]) -> list[str]:
    """The span ids of tool calls; for a call without a span, the span of the model's request."""
    ids = (call.span_id or call.requested_by_span_id for call in calls)
    return list(dict.fromkeys(span_id for span_id in ids if span_id))


def output_spans(trace: Trace) -> list[str]:
    """The span where the output came from: the last model call's, else the first root's."""
    if trace.llm_calls:
        return [trace.llm_calls[-1].span_id]
    return [span.span_id for span in trace.spans if not span.parent_span_id][:1]


def counted(number: int, noun: str) -> str:
    """`1 tool call`, `2 tool calls`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(items: Iterable[str], limit: int = 5) -> str:
    """Items for a sentence: quoted, the first few of many."""
    all_items = list(items)
    more = len(all_items) - limit
    shown = ", ".join(repr(item) for item in all_items[:limit])
    return f"{shown} and {more} more" if more > 0 else shown


def did_run(call: ToolCall) -> bool:
    """Whether a call ran: it has a span or a result; one in a message alone was only asked for."""
    return call.source != "message" or call.error is not None or call.output is not None


def call_error(call: ToolCall) -> str:
    """What a failed call said, as a short text."""
    error = call.error
    said = (error.message or error.type) if error is not None else ""
    return f"{call.name}: {said[:MAX_MESSAGE_CHARS] or 'no message'}"
