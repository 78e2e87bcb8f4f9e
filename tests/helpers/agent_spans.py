"""Small hand-made spans."""

from __future__ import annotations

import json
from typing import Any

from tracejury.trace import SpanEvent, SpanRecord, StatusCode

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SECOND = 1_000_000_000
START = 1_790_000_000 * SECOND


def span(
    span_id: str,
    parent: str = "",
    *,
    name: str = "",
    at: float = 0,
    lasts: float = 1,
    status: StatusCode = "unset",
    message: str = "",
    scope: str = "",
    events: tuple[SpanEvent, ...] = (),
    resource: dict[str, Any] | None = None,
    **attributes: Any,
) -> SpanRecord:
    """A span that starts `at` seconds; `__` in the names of attributes stands for a dot."""
    start = START + int(at * SECOND)
    return SpanRecord(
        trace_id=TRACE_ID,
        span_id=span_id,
        parent_span_id=parent,
        name=name or span_id,
        start_ns=start,
        end_ns=start + int(lasts * SECOND),
        status=status,
        status_message=message,
        attributes={key.replace("__", "."): value for key, value in attributes.items()},
        events=events,
        resource=resource or {},
        scope_name=scope,
    )


def agent(span_id: str = "agent", parent: str = "", **more: Any) -> SpanRecord:
    """A span of an agent's run."""
    return span(
        span_id,
        parent,
        **{"lasts": 100, "gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "a"}
        | more,
    )


def llm(span_id: str, parent: str = "agent", **more: Any) -> SpanRecord:
    """A span of a model call."""
    return span(
        span_id,
        parent,
        **{"gen_ai__operation__name": "chat", "gen_ai__request__model": "gpt-4o"} | more,
    )


def tool(span_id: str, parent: str = "agent", tool_name: str = "search", **more: Any) -> SpanRecord:
    """A span of a tool call."""
    return span(
        span_id,
        parent,
        **{"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": tool_name} | more,
    )


def said(role: str, *parts: dict[str, Any] | str) -> dict[str, Any]:
    """A message in the shape of the GenAI conventions."""
    return {
        "role": role,
        "parts": [{"type": "text", "content": p} if isinstance(p, str) else p for p in parts],
    }


def asks(call_id: str, name: str = "search", **arguments: Any) -> dict[str, Any]:
    """The part of a message that asks for a tool call."""
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def answers(call_id: str, response: Any) -> dict[str, Any]:
    """The part of a message that holds a tool's result."""
    return {"type": "tool_call_response", "id": call_id, "response": response}


def text(*messages: dict[str, Any]) -> str:
    """The messages as an attribute holds them."""
    return json.dumps(messages)
