"""Our trace as AgentProbe's, and a case's criteria as its test case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tracejury import trace as ours
from tracejury_evaluators.adapters.agentprobe.models import (
    LLMCall,
    TestCase,
    ToolCall,
    Trace,
    Turn,
    TurnType,
)
from tracejury_evaluators.facts import missing_output, unseen_tool_calls


def case_of(trace: ours.Trace, told: Mapping[str, Any]) -> TestCase:
    """The test case that the criteria tell of; what they leave out is the trace's."""
    known = {"name": trace.name or trace.agent_name or "trace", "input_text": trace.input_text}
    return TestCase(test_id=trace.trace_id, **(known | dict(told)))


def recorded_trace(trace: ours.Trace) -> Trace:
    """The trace in AgentProbe's shape; reading what was not recorded raises NotRecorded."""
    llm_calls = tuple(_llm_call(call) for call in trace.llm_calls)
    tool_calls = tuple(_tool_call(call) for call in trace.tool_calls)
    return Trace(
        trace_id=trace.trace_id,
        agent_name=trace.agent_name,
        model=trace.models[0] if trace.models else None,
        input_text=trace.input_text,
        output_text=trace.output_text,
        turns=tuple(_turns(trace, llm_calls, tool_calls)),
        llm_calls=llm_calls,
        tool_calls=tool_calls,
        total_input_tokens=trace.usage.input_tokens or 0,
        total_output_tokens=trace.usage.output_tokens or 0,
        total_latency_ms=round(trace.latency_ms),
        metadata=_metadata(trace),
        created_at=_time(trace.start_ns),
    ).lacking(dict(_lacking(trace)))


def _lacking(trace: ours.Trace) -> Iterator[tuple[str, str]]:
    """The fields that would say something untrue, and why."""
    if trace.usage.input_tokens is None:
        yield "total_input_tokens", "input tokens were not recorded"
    if trace.usage.output_tokens is None:
        yield "total_output_tokens", "output tokens were not recorded"
    if trace.start_ns <= 0 or trace.end_ns <= 0:
        yield "total_latency_ms", "the trace has no recorded start or end"
    no_output = missing_output(trace)
    if no_output is not None:
        yield "output_text", no_output.reason
    unseen = unseen_tool_calls(trace)
    if unseen is not None:
        yield "tool_calls", unseen.reason


def _metadata(trace: ours.Trace) -> dict[str, Any]:
    return {
        "kind": trace.kind,
        "service_name": trace.service_name,
        "session_id": trace.session_id,
        "user_id": trace.user_id,
        "has_error": trace.has_error,
        "cost_usd": trace.cost.usd,
        "redacted": trace.flags.redacted,
        "truncated": trace.flags.truncated,
    }


def _llm_call(call: ours.LLMCall) -> LLMCall:
    return LLMCall(
        call_id=call.span_id,
        model=call.model,
        input_tokens=call.usage.input_tokens or 0,
        output_tokens=call.usage.output_tokens or 0,
        input_text="\n".join(message.text for message in call.input if message.text),
        output_text="\n".join(message.text for message in call.output if message.text),
        latency_ms=round(call.latency_ms or 0),
        timestamp=_time(call.start_ns),
    )


def _tool_call(call: ours.ToolCall) -> ToolCall:
    arguments = call.arguments
    given = {} if arguments is None else {"input": arguments}
    error = call.error
    return ToolCall(
        call_id=call.id or call.span_id,
        tool_name=call.name,
        tool_input=arguments if isinstance(arguments, dict) else given,
        tool_output=call.output,
        success=error is None,
        error=None if error is None else error.message or error.type or "failed",
        latency_ms=round(call.latency_ms or 0),
        timestamp=_time(call.start_ns),
    )


def _turns(
    trace: ours.Trace, llm_calls: tuple[LLMCall, ...], tool_calls: tuple[ToolCall, ...]
) -> Iterator[Turn]:
    """What was asked, the calls in order of start, what was answered."""
    if trace.input_text:
        start = _time(trace.start_ns)
        yield Turn(turn_type=TurnType.USER_MESSAGE, content=trace.input_text, timestamp=start)
    calls = [
        *(Turn(turn_type=TurnType.LLM_CALL, llm_call=c, timestamp=c.timestamp) for c in llm_calls),
        *(
            Turn(turn_type=TurnType.TOOL_CALL, tool_call=c, timestamp=c.timestamp)
            for c in tool_calls
        ),
    ]
    yield from sorted(calls, key=lambda turn: turn.timestamp)
    if trace.output_text:
        end = _time(trace.end_ns)
        yield Turn(turn_type=TurnType.AGENT_MESSAGE, content=trace.output_text, timestamp=end)


def _time(ns: int) -> datetime:
    """The time in UTC; one past the calendar is cut to its end."""
    return datetime.fromtimestamp(min(ns / 1e9, 253402300799), UTC)
