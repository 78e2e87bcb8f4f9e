"""Builders for tests of evaluators: traces, tool calls and LLM calls with sensible defaults.

trace = make_trace(input="Weather in Paris?", output="18 degrees",
                   tool_calls=[make_tool_call("get_weather", {"city": "Paris"})])
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tracejury.trace import (
    LLMCall,
    Message,
    Part,
    Role,
    Span,
    SpanError,
    ToolCall,
    ToolDefinition,
    Trace,
    Turn,
    Usage,
)

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
NO_ARGUMENTS: Mapping[str, Any] = MappingProxyType({})


def make_message(role: Role = "user", text: str = "", **fields: Any) -> Message:
    """A message of one text part."""
    return Message(role=role, parts=(Part(type="text", text=text),) if text else (), **fields)


QUESTION = make_message("user", "What is the weather in Paris?")
ANSWER = make_message("assistant", "It is 18 degrees in Paris.")


def make_trace(
    *,
    input: str = QUESTION.text,
    output: str = ANSWER.text,
    tool_calls: Iterable[ToolCall | str] = (),
    llm_calls: Iterable[LLMCall] = (),
    latency_ms: float = 1_000.0,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    **fields: Any,
) -> Trace:
    """A finished agent trace; a tool call may be given by its name, `fields` set any other field.

    Calls without a span id get `tool-1`, `tool-2`, … and `llm-1`, …; usage is the sum of the LLM
    calls' usage unless given; there is a root span named `root` and a span for every call.
    """
    calls = _numbered_tool_calls(tool_calls)
    models = _numbered_llm_calls(llm_calls)
    end_ns = START_NS + round(latency_ms * MS)
    defaults: dict[str, Any] = {
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "name": "agent",
        "kind": "agent",
        "input_text": input,
        "output_text": output,
        "start_ns": START_NS,
        "end_ns": end_ns,
        "usage": _usage(models, input_tokens, output_tokens),
        "models": tuple(dict.fromkeys(call.model for call in models if call.model)),
        "turns": (Turn(input=input, output=output, span_id="root"),),
        "messages": (make_message("user", input), make_message("assistant", output)),
        "tool_calls": calls,
        "llm_calls": models,
        "spans": _spans(calls, models, end_ns),
        "error_count": sum(
            e is not None for e in (*(c.error for c in calls), *(m.error for m in models))
        ),
    }
    return Trace(**defaults | fields)


def make_tool_call(
    name: str = "get_weather",
    arguments: Any = NO_ARGUMENTS,
    output: Any = "ok",
    *,
    error: str | SpanError | None = None,
    **fields: Any,
) -> ToolCall:
    """A tool call that ran; arguments are {} unless given, None where they were not recorded.

    With an `error` (a message or a SpanError) it failed and has no output; `fields` set any
    other field of a ToolCall, such as `span_id` or `source`.
    """
    defaults: dict[str, Any] = {
        "name": name,
        "arguments": {} if arguments is NO_ARGUMENTS else arguments,
        "output": None if error else output,
        "output_text": "" if error else _text(output),
        "error": SpanError(type="ToolError", message=error) if isinstance(error, str) else error,
        "latency_ms": 10.0,
    }
    return ToolCall(**defaults | fields)


def make_llm_call(
    *,
    input: Sequence[Message] = (QUESTION,),
    output: Sequence[Message] = (ANSWER,),
    tools: Iterable[str | ToolDefinition] = (),
    input_tokens: int | None = 100,
    output_tokens: int | None = 20,
    model: str = "gpt-5-mini",
    **fields: Any,
) -> LLMCall:
    """A call of a model that was offered `tools`; `fields` set any other field of an LLMCall."""
    defaults: dict[str, Any] = {
        "span_id": "",
        "name": f"chat {model}",
        "operation": "chat",
        "model": model,
        "input": tuple(input),
        "output": tuple(output),
        "tool_definitions": tuple(
            tool if isinstance(tool, ToolDefinition) else ToolDefinition(name=tool)
            for tool in tools
        ),
        "usage": make_usage(input_tokens, output_tokens),
        "latency_ms": 100.0,
    }
    return LLMCall(**defaults | fields)


def make_usage(input_tokens: int | None, output_tokens: int | None) -> Usage:
    """Token counts; the total is known where both are."""
    both = input_tokens is not None and output_tokens is not None
    total = (input_tokens or 0) + (output_tokens or 0) if both else None
    return Usage(input_tokens=input_tokens, output_tokens=output_tokens, total_tokens=total)


def _usage(models: Sequence[LLMCall], input_tokens: int | None, output_tokens: int | None) -> Usage:
    if input_tokens is None and output_tokens is None and models:
        return make_usage(
            _sum(call.usage.input_tokens for call in models),
            _sum(call.usage.output_tokens for call in models),
        )
    return make_usage(input_tokens, output_tokens)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _numbered_tool_calls(calls: Iterable[ToolCall | str]) -> tuple[ToolCall, ...]:
    made = (make_tool_call(call) if isinstance(call, str) else call for call in calls)
    return tuple(
        call if call.span_id else replace(call, span_id=f"tool-{number}")
        for number, call in enumerate(made, 1)
    )


def _numbered_llm_calls(calls: Iterable[LLMCall]) -> tuple[LLMCall, ...]:
    return tuple(
        call if call.span_id else replace(call, span_id=f"llm-{number}")
        for number, call in enumerate(calls, 1)
    )


def _spans(calls: Sequence[ToolCall], models: Sequence[LLMCall], end_ns: int) -> tuple[Span, ...]:
    times: Mapping[str, Any] = {"start_ns": START_NS, "end_ns": end_ns}
    below: Mapping[str, Any] = {"parent_span_id": "root", **times}
    return (
        Span(span_id="root", name="agent", kind="agent", **times),
        *(Span(span_id=c.span_id, name=c.name, kind="llm", model=c.model, **below) for c in models),
        *(
            Span(span_id=c.span_id, name=c.name, kind="tool", tool_name=c.name, **below)
            for c in calls
            if c.source != "message"
        ),
    )


def _text(output: Any) -> str:
    if output is None:
        return ""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
