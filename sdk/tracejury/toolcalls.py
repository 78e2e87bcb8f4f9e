"""A trace's tool calls as evaluators like to read them, and the trace as text for a judge."""

from __future__ import annotations

from tracejury.dialects.decode import to_text
from tracejury.trace import ToolCall, Trace

_MAX_CHARS = 4000


def extract_tool_calls(trace: Trace) -> list[ToolCall]:
    """The tool calls in order of execution, each once."""
    return list(trace.tool_calls)


def extract_tool_calls_names(trace: Trace) -> list[str]:
    """The names of the tools called, in order of execution."""
    return [call.name for call in trace.tool_calls]


def extract_tool_calls_outputs(trace: Trace) -> list[str]:
    """What the tools gave back as text, in order of execution; "" where nothing was recorded."""
    return [call.output_text for call in trace.tool_calls]


def trace_to_str(trace: Trace, *, max_chars: int = _MAX_CHARS) -> str:
    """The run as text: input, tool calls with their results, output; long values are cut.

    `max_chars` bounds each value, not the whole.
    """
    lines: list[str] = []
    if trace.agent_name:
        lines.append(f"Agent: {trace.agent_name}")
    for turn in trace.turns[:-1]:
        lines += [f"User: {_cut(turn.input, max_chars)}", f"Agent: {_cut(turn.output, max_chars)}"]
    asked = trace.turns[-1].input if trace.turns else trace.input_text
    lines.append(f"User: {_cut(asked, max_chars)}")
    for position, call in enumerate(trace.tool_calls, 1):
        lines += _call_lines(position, call, max_chars)
    lines.append(f"Answer: {_cut(trace.output_text, max_chars)}")
    return "\n".join(lines)


def _call_lines(position: int, call: ToolCall, max_chars: int) -> list[str]:
    arguments = "" if call.arguments is None else to_text(call.arguments)
    lines = [f"Tool call {position}: {call.name}({_cut(arguments, max_chars)})"]
    if call.error is not None:
        message = call.error.message or call.error.type or "failed"
        lines.append(f"  error: {_cut(message, max_chars)}")
    elif call.output is not None:
        lines.append(f"  result: {_cut(call.output_text, max_chars)}")
    return lines


def _cut(text: str, max_chars: int) -> str:
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]} [cut, {len(text)} characters]"
