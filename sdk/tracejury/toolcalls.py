"""A trace's tool calls as evaluators like to read them, and the trace as text for a judge.

All take a `Trace`, or spans: those of OpenTelemetry's SDK as an exporter gets them, `SpanRecord`s,
or decoded OTLP JSON. Spans are read as the service reads them, whatever framework wrote them.
"""

from __future__ import annotations

from collections.abc import Iterable

from tracejury.assemble import assemble
from tracejury.dialects.decode import to_text
from tracejury.span_records import span_records
from tracejury.trace import SpanRecord, ToolCall, Trace

_MAX_CHARS = 4000

Source = Trace | Iterable[object]
"""A trace; a list of spans; or one OTLP JSON export as data."""


def extract_tool_calls(source: Source) -> list[ToolCall]:
    """The tool calls in order of execution, each once.

    Raises: TypeError where `source` is neither a trace nor spans.
    """
    return [call for trace in traces_of(source) for call in trace.tool_calls]


def extract_tool_calls_names(source: Source) -> list[str]:
    """The names of the tools called, in order of execution.

    Raises: TypeError where `source` is neither a trace nor spans.
    """
    return [call.name for call in extract_tool_calls(source)]


def extract_tool_calls_outputs(source: Source) -> list[str]:
    """What the tools gave back as text, in order of execution; "" where nothing was recorded.

    Raises: TypeError where `source` is neither a trace nor spans.
    """
    return [call.output_text for call in extract_tool_calls(source)]


def trace_to_str(source: Source, *, max_chars: int = _MAX_CHARS) -> str:
    """The run as text: input, tool calls with their results, output; long values are cut.

    `max_chars` bounds each value, not the whole; the runs of several traces are set apart by an
    empty line.
    Raises: TypeError where `source` is neither a trace nor spans.
    """
    return "\n\n".join([_run_text(trace, max_chars) for trace in traces_of(source)])


def traces_of(source: Source) -> list[Trace]:
    """The traces that spans tell of, in order of their first span; a trace itself stands alone.

    Raises: TypeError where `source` is neither a trace nor spans.
    """
    if isinstance(source, Trace):
        return [source]
    groups: dict[str, list[SpanRecord]] = {}
    for record in span_records(source):
        if not record.attributes.get("tool.synthesized"):
            groups.setdefault(record.trace_id, []).append(record)
    return [assemble(group) for group in groups.values()]


def _run_text(trace: Trace, max_chars: int) -> str:
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
