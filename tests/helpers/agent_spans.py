"""Small hand-made spans."""

from __future__ import annotations

import json
from typing import Any

from tracejury.trace import SpanRecord

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SECOND = 1_000_000_000
START = 1_790_000_000 * SECOND


def span(span_id: str, parent: str = "", /, **more: Any) -> SpanRecord:
    """A span that starts `at` and `lasts` seconds, with `name`, `status`, `message`, `scope`,
    `events` and `resource`; all else are attributes, `__` in their names stands for a dot."""
    start = START + int(more.pop("at", 0) * SECOND)
    return SpanRecord(
        trace_id=TRACE_ID,
        span_id=span_id,
        parent_span_id=parent,
        name=more.pop("name", span_id),
        start_ns=start,
        end_ns=start + int(more.pop("lasts", 1) * SECOND),
        status=more.pop("status", "unset"),
        status_message=more.pop("message", ""),
        events=more.pop("events", ()),
        resource=more.pop("resource", {}),
        scope_name=more.pop("scope", ""),
        attributes={key.replace("__", "."): value for key, value in more.items()},
    )


def agent(span_id: str = "agent", parent: str = "", /, **more: Any) -> SpanRecord:
    """A span of an agent's run."""
    known = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "a"}
    return span(span_id, parent, **{"lasts": 100, **known, **more})


def llm(span_id: str, parent: str = "agent", /, **more: Any) -> SpanRecord:
    """A span of a model call."""
    known = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "gpt-4o"}
    return span(span_id, parent, **{**known, **more})


def tool(
    span_id: str, parent: str = "agent", /, tool_name: str = "search", **more: Any
) -> SpanRecord:
    """A span of a tool call."""
    known = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": tool_name}
    return span(span_id, parent, **{**known, **more})


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
