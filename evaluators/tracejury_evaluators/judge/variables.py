"""What the variables of a template stand for: the case's own words, and fields of the trace."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Union

from pydantic_core import to_jsonable_python

from tracejury.trace import Message, ToolCall, Trace
from tracejury_evaluators.judge.criteria import JudgeCriteria

MAX_DEPTH = 3
PREFIX = "trace."

FROM_CASE = (
    "expected_outcome",
    "reference_answer",
    "guideline",
    "success_criteria",
    "failure_criteria",
    "expected_tools",
    "reference_trajectory",
    "rubric",
)
FROM_TRACE = (
    "question",
    "candidate_answer",
    "input_messages",
    "output_messages",
    "conversation",
    "tool_calls",
    "tools",
    "context",
)


@cache
def known_variables() -> frozenset[str]:
    """Every name that a template may hold."""
    return frozenset([*FROM_CASE, *FROM_TRACE, *(PREFIX + path for path in trace_paths())])


@cache
def trace_paths() -> tuple[str, ...]:
    """The fields of a trace, and those of the records in it: `usage.input_tokens`."""
    return ("latency_ms", *_paths(Trace, MAX_DEPTH))


def variable(name: str, trace: Trace, case: Mapping[str, str], criteria: JudgeCriteria) -> str:
    """The text that a variable stands for; "" where there is none."""
    if name.startswith(PREFIX):
        return as_text(field_at(trace, name.removeprefix(PREFIX)))
    if name in case:
        return case[name]
    maker = _MAKERS.get(name)
    return maker(trace, criteria) if maker else ""


def field_at(trace: Trace, path: str) -> object:
    """The value at a path of field names."""
    value: object = trace
    for name in path.split("."):
        value = getattr(value, name)
    return value


def as_text(value: object) -> str:
    """A value as it stands in a prompt: text as it is, nothing for None, all else as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        plain = to_jsonable_python(
            value, exclude_none=True, fallback=str, bytes_mode="base64", inf_nan_mode="strings"
        )
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return "(nested too deeply to be shown)"


def messages_json(messages: Iterable[Message]) -> str:
    """Messages as a JSON list of role, content, and the tool calls and results in them."""
    return as_text([_message(message) for message in messages])


def context_text(trace: Trace) -> str:
    """What an answer may rest on: the documents, and what the tools returned."""
    documents = [
        {"document": document.id or number, "content": document.content}
        for number, document in enumerate(trace.documents, 1)
        if document.content
    ]
    outputs = [
        {"tool": call.name, "output": call.output}
        for call in trace.tool_calls
        if call.error is None and call.output not in (None, "")
    ]
    return as_text([*documents, *outputs]) if documents or outputs else ""


def conversation_text(trace: Trace) -> str:
    """The turns, numbered from 1, each with what was asked and what was answered."""
    turns = trace.turns or ()
    if not turns:
        return as_text([{"turn": 1, "input": trace.input_text, "output": trace.output_text}])
    return as_text(
        [
            {"turn": number, "input": turn.input, "output": turn.output}
            for number, turn in enumerate(turns, 1)
        ]
    )


def tool_calls_text(calls: Sequence[ToolCall]) -> str:
    """The calls in their order: name, arguments, and what came of each."""
    return as_text([_call(number, call) for number, call in enumerate(calls, 1)])


def tools_text(trace: Trace) -> str:
    """The tools that the models were offered, each once by its name."""
    offered = {
        tool.name: {"name": tool.name, "description": tool.description or None}
        | ({"parameters": tool.parameters} if tool.parameters else {})
        for call in trace.llm_calls
        for tool in call.tool_definitions
    }
    return as_text(list(offered.values())) if offered else ""


def said_and_done(trace: Trace) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """The messages that the agent was given, and those that came of them.

    What it was given ends with the last message of a user before the agent's first words.
    """
    first = next((i for i, m in enumerate(trace.messages) if m.role in ("assistant", "tool")), None)
    if first is None:
        return trace.messages, ()
    return trace.messages[:first], trace.messages[first:]


def _input_messages(trace: Trace, _criteria: JudgeCriteria) -> str:
    return messages_json(said_and_done(trace)[0])


def _output_messages(trace: Trace, criteria: JudgeCriteria) -> str:
    if criteria.expected_messages is not None:
        return as_text(criteria.expected_messages)
    return messages_json(said_and_done(trace)[1])


_MAKERS: Mapping[str, typing.Callable[[Trace, JudgeCriteria], str]] = {
    "question": lambda trace, _: trace.input_text,
    "candidate_answer": lambda trace, _: trace.output_text,
    "input_messages": _input_messages,
    "output_messages": _output_messages,
    "conversation": lambda trace, _: conversation_text(trace),
    "tool_calls": lambda trace, _: tool_calls_text(trace.tool_calls),
    "tools": lambda trace, _: tools_text(trace),
    "context": lambda trace, _: context_text(trace),
}


def _message(message: Message) -> dict[str, Any]:
    calls = [
        {"tool": part.name, "input": part.arguments, "id": part.id or None}
        for part in message.parts
        if part.type == "tool_call"
    ]
    results = [
        {"tool": part.name or None, "output": part.output, "id": part.id or None}
        for part in message.parts
        if part.type == "tool_result"
    ]
    data: dict[str, Any] = {"role": message.role, "content": message.text}
    return (
        data | ({"tool_calls": calls} if calls else {}) | ({"results": results} if results else {})
    )


def _call(number: int, call: ToolCall) -> dict[str, Any]:
    data: dict[str, Any] = {"call": number, "tool": call.name, "arguments": call.arguments}
    if call.error is not None:
        return data | {"error": call.error.message or call.error.type or "failed"}
    return data | {"output": call.output}


def _paths(record: type, depth: int) -> list[str]:
    """The paths of a dataclass's fields, down to the fields of dataclasses in it."""
    hints = typing.get_type_hints(record)
    found = []
    for field in dataclasses.fields(record):
        found.append(field.name)
        inner = _dataclass_in(hints[field.name]) if depth > 1 else None
        found += [f"{field.name}.{path}" for path in _paths(inner, depth - 1)] if inner else []
    return found


def _dataclass_in(hint: Any) -> type | None:
    if typing.get_origin(hint) in (Union, types.UnionType):
        return None
    return hint if isinstance(hint, type) and dataclasses.is_dataclass(hint) else None
