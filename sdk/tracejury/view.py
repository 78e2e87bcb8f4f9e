"""The trace as the API gives it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tracejury.trace import (
    Document,
    Flags,
    LLMCall,
    Message,
    Part,
    Span,
    SpanError,
    ToolCall,
    Trace,
    Usage,
)

_LAST_SECOND = 253_402_300_799  # 9999-12-31T23:59:59Z


def trace_to_api(trace: Trace) -> dict[str, Any]:
    """What `GET /api/traces/{trace_id}` says of the trace itself, as JSON values."""
    return {
        "trace_id": trace.trace_id,
        "revision": trace.revision,
        "name": trace.name,
        "kind": trace.kind,
        "flags": _flags(trace.flags),
        "input_text": trace.input_text,
        "output_text": trace.output_text,
        "agent_name": trace.agent_name,
        "service_name": trace.service_name,
        "session_id": trace.session_id,
        "user_id": trace.user_id,
        "start_time": rfc3339(trace.start_ns),
        "end_time": rfc3339(trace.end_ns),
        "latency_ms": trace.latency_ms,
        "has_error": trace.has_error,
        "error_count": trace.error_count,
        "usage": _usage(trace.usage),
        "cost_usd": trace.cost.usd,
        "cost_source": trace.cost.source,
        "models": list(trace.models),
        "tool_calls": [_tool_call(call) for call in trace.tool_calls],
        "turns": [
            {
                "input": turn.input,
                "output": turn.output,
                "span_id": turn.span_id,
                "start_time": rfc3339(turn.start_ns),
                "end_time": rfc3339(turn.end_ns),
                "error": _error(turn.error),
            }
            for turn in trace.turns
        ],
        "llm_calls": [_llm_call(call) for call in trace.llm_calls],
        "messages": [_message(message) for message in trace.messages],
        "documents": [_document(document) for document in trace.documents],
        "spans": [_span(span) for span in trace.spans],
        "dialects": list(trace.dialects),
        "diagnostics": list(trace.diagnostics),
    }


def rfc3339(time_ns: int) -> str | None:
    """The time in UTC with nanoseconds, None where there is none."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    if time_ns <= 0 or seconds > _LAST_SECOND:
        return None
    moment = datetime.fromtimestamp(seconds, tz=UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def _flags(flags: Flags) -> dict[str, bool]:
    return {
        "redacted": flags.redacted,
        "truncated": flags.truncated,
        "not_captured": flags.not_captured,
    }


def _usage(usage: Usage) -> dict[str, int | None]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "total_tokens": usage.total_tokens,
    }


def _error(error: SpanError | None) -> dict[str, str] | None:
    if error is None:
        return None
    return {"type": error.type, "message": error.message, "stack": error.stack}


def _tool_call(call: ToolCall) -> dict[str, Any]:
    return {
        "name": call.name,
        "arguments": call.arguments,
        "output": call.output,
        "error": _error(call.error),
        "id": call.id,
        "start_time": rfc3339(call.start_ns),
        "latency_ms": call.latency_ms,
        "span_id": call.span_id,
        "requested_by_span_id": call.requested_by_span_id,
        "source": call.source,
        "attempt": call.attempt,
    }


def _llm_call(call: LLMCall) -> dict[str, Any]:
    return {
        "span_id": call.span_id,
        "name": call.name,
        "operation": call.operation,
        "provider": call.provider,
        "model": call.model,
        "input": [_message(message) for message in call.input],
        "output": [_message(message) for message in call.output],
        "tool_definitions": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in call.tool_definitions
        ],
        "finish_reasons": list(call.finish_reasons),
        "params": dict(call.params),
        "response_id": call.response_id,
        "usage": _usage(call.usage),
        "cost_usd": call.cost.usd,
        "cost_source": call.cost.source,
        "start_time": rfc3339(call.start_ns),
        "latency_ms": call.latency_ms,
        "ttft_ms": call.ttft_ms,
        "error": _error(call.error),
    }


def _message(message: Message) -> dict[str, Any]:
    return {
        "role": message.role,
        "name": message.name,
        "text": message.text,
        "parts": [part_to_api(part) for part in message.parts],
        "finish_reason": message.finish_reason,
    }


def part_to_api(part: Part) -> dict[str, Any]:
    """The part with the fields that its type has."""
    if part.type == "tool_call":
        return {"type": part.type, "id": part.id, "name": part.name, "arguments": part.arguments}
    if part.type == "tool_result":
        return {
            "type": part.type,
            "id": part.id,
            "name": part.name,
            "output": part.output,
            "is_error": part.is_error,
        }
    if part.type in ("media", "other"):
        return {"type": part.type, "raw": part.raw}
    return {"type": part.type, "text": part.text}


def _document(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "content": document.content,
        "score": document.score,
        "metadata": dict(document.metadata),
        "query": document.query,
        "span_id": document.span_id,
    }


def _span(span: Span) -> dict[str, Any]:
    return {
        "span_id": span.span_id,
        "parent_span_id": span.parent_span_id,
        "name": span.name,
        "kind": span.kind,
        "dialect": span.dialect,
        "scope_name": span.scope_name,
        "start_time": rfc3339(span.start_ns),
        "end_time": rfc3339(span.end_ns),
        "latency_ms": span.latency_ms,
        "status": span.status,
        "error": _error(span.error),
        "agent_name": span.agent_name,
        "provider": span.provider,
        "model": span.model,
        "operation": span.operation,
        "input": span.input,
        "output": span.output,
        "tool_name": span.tool_name,
        "tool_call_id": span.tool_call_id,
        "usage": _usage(span.usage),
        "cost_usd": span.cost.usd,
        "cost_source": span.cost.source,
        "flags": _flags(span.flags),
        "attributes": dict(span.attributes),
        "events": [
            {
                "name": event.name,
                "time": rfc3339(event.time_ns),
                "attributes": dict(event.attributes),
            }
            for event in span.events
        ],
    }
