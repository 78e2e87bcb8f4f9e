"""Builders for tests of evaluators: traces and their parts with sensible defaults."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tracejury.trace import (
    Document,
    LLMCall,
    Message,
    Part,
    Role,
    Span,
    SpanError,
    SpanKind,
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
    input: str | None = None,
    output: str | None = None,
    turns: Iterable[Turn | tuple[str, str]] = (),
    tool_calls: Iterable[ToolCall | str] = (),
    llm_calls: Iterable[LLMCall] = (),
    documents: Iterable[Document | str] = (),
    latency_ms: float = 1_000.0,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    **fields: Any,
) -> Trace:
    """A finished agent trace; `fields` set any other field of a Trace.

    A tool call may be given by its name, a turn by its input and output, a document by its
    content. Calls without a span id get `tool-1`, `tool-2`, … and `llm-1`, …, documents that of
    the span `retriever`; there is a root span named `root` and a span for every call. Usage is
    the sum of the LLM calls' usage unless given; input and output are the first and last turn's.
    """
    calls = _numbered_tool_calls(tool_calls)
    models = _numbered_llm_calls(llm_calls)
    found = _numbered_documents(documents)
    talk = _turns(turns, input, output)
    end_ns = START_NS + round(latency_ms * MS)
    defaults: dict[str, Any] = {
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "name": "agent",
        "kind": "agent",
        "input_text": talk[0].input if input is None else input,
        "output_text": talk[-1].output if output is None else output,
        "start_ns": START_NS,
        "end_ns": end_ns,
        "usage": _usage(models, input_tokens, output_tokens),
        "models": tuple(dict.fromkeys(call.model for call in models if call.model)),
        "turns": talk,
        "messages": _conversation(talk),
        "tool_calls": calls,
        "llm_calls": models,
        "documents": found,
        "spans": _spans(calls, models, found, end_ns),
        "error_count": sum(
            e is not None for e in (*(c.error for c in calls), *(m.error for m in models))
        ),
    }
    return Trace(**defaults | fields)


def make_turn(input: str = QUESTION.text, output: str = ANSWER.text, **fields: Any) -> Turn:
    """A turn of the conversation, recorded on the root span."""
    return Turn(**{"input": input, "output": output, "span_id": "root"} | fields)


def make_document(content: str = "Paris is mild.", **fields: Any) -> Document:
    """A retrieved document; `fields` set any other field, such as `id`, `score` or `query`."""
    return Document(content=content, **fields)


def make_span(
    span_id: str = "span-1", kind: SpanKind = "step", *, latency_ms: float = 10.0, **fields: Any
) -> Span:
    """A span below the root that ended well; `fields` set any other field of a Span."""
    defaults: dict[str, Any] = {
        "span_id": span_id,
        "parent_span_id": "root",
        "name": span_id,
        "kind": kind,
        "start_ns": START_NS,
        "end_ns": START_NS + round(latency_ms * MS),
        "latency_ms": latency_ms,
    }
    return Span(**defaults | fields)


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


def _numbered_documents(documents: Iterable[Document | str]) -> tuple[Document, ...]:
    made = (make_document(item) if isinstance(item, str) else item for item in documents)
    return tuple(
        replace(item, id=item.id or f"document-{number}", span_id=item.span_id or "retriever")
        for number, item in enumerate(made, 1)
    )


def _turns(
    turns: Iterable[Turn | tuple[str, str]], input: str | None, output: str | None
) -> tuple[Turn, ...]:
    made = tuple(turn if isinstance(turn, Turn) else make_turn(*turn) for turn in turns)
    return made or (
        make_turn(
            QUESTION.text if input is None else input, ANSWER.text if output is None else output
        ),
    )


def _conversation(turns: Iterable[Turn]) -> tuple[Message, ...]:
    return tuple(
        message
        for turn in turns
        for message in (make_message("user", turn.input), make_message("assistant", turn.output))
    )


def _spans(
    calls: Sequence[ToolCall], models: Sequence[LLMCall], documents: Sequence[Document], end_ns: int
) -> tuple[Span, ...]:
    times: Mapping[str, Any] = {"start_ns": START_NS, "end_ns": end_ns}
    below: Mapping[str, Any] = {"parent_span_id": "root", **times}
    retrievers = dict.fromkeys(document.span_id for document in documents)
    return (
        Span(span_id="root", name="agent", kind="agent", **times),
        *(Span(span_id=c.span_id, name=c.name, kind="llm", model=c.model, **below) for c in models),
        *(
            Span(span_id=c.span_id, name=c.name, kind="tool", tool_name=c.name, **below)
            for c in calls
            if c.source != "message"
        ),
        *(Span(span_id=name, name=name, kind="retriever", **below) for name in retrievers),
    )


def _text(output: Any) -> str:
    if output is None:
        return ""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
