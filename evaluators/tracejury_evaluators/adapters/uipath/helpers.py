"""UiPath's helper functions on spans; they read the spans of any framework.

They take the `agent_trace` of an execution, spans of OpenTelemetry's SDK, records, OTLP JSON, or a
`Trace`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracejury import toolcalls
from tracejury.dialects.decode import to_text
from tracejury.toolcalls import Source
from tracejury.trace import ToolCall as OurToolCall
from tracejury.trace import Trace
from tracejury_evaluators.adapters.uipath.models import ToolCall, ToolOutput
from tracejury_evaluators.adapters.uipath.recorded import RecordedSpans

Spans = Trace | Iterable[Any]


def extract_tool_calls(spans: Spans, include_args: bool = True) -> list[ToolCall]:
    """The tool calls in order of start; `args` is {} where they are no object."""
    return [
        ToolCall(name=call.name, args=_args(call) if include_args else {}, id=call.id or None)
        for call in toolcalls.extract_tool_calls(_source(spans))
    ]


def extract_tool_calls_names(spans: Spans) -> list[str]:
    """The names of the tools called, in order of start."""
    return toolcalls.extract_tool_calls_names(_source(spans))


def extract_tool_calls_outputs(spans: Spans) -> list[ToolOutput]:
    """What the tools gave back; of an object with `content`, that."""
    return [
        ToolOutput(name=call.name, output=_output(call), id=call.id or None)
        for call in toolcalls.extract_tool_calls(_source(spans))
    ]


def trace_to_str(spans: Spans) -> str:
    """The run as text for a judge."""
    return toolcalls.trace_to_str(_source(spans))


def _source(spans: Spans) -> Source:
    return spans.trace if isinstance(spans, RecordedSpans) else spans


def _args(call: OurToolCall) -> dict[str, Any]:
    return call.arguments if isinstance(call.arguments, dict) else {}


def _output(call: OurToolCall) -> str:
    if isinstance(call.output, dict) and call.output.get("content") is not None:
        return to_text(call.output["content"])
    return call.output_text
