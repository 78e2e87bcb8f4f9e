"""Older and other libraries tell the same story in their own words."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.helpers.agent_spans import START, TRACE_ID, span
from tracejury.assemble import assemble
from tracejury.trace import LogRecord, SpanEvent, SpanRecord, Trace

CITY = {"city": "Oslo"}
ARGUMENTS = json.dumps(CITY)
OPENAI_CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "weather", "arguments": ARGUMENTS},
}


def openllmetry_before_the_conventions() -> list[SpanRecord]:
    first = {
        "gen_ai.system": "OpenAI",
        "llm.request.type": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "Rain?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.finish_reason": "tool_calls",
        "gen_ai.completion.0.tool_calls.0.id": "c1",
        "gen_ai.completion.0.tool_calls.0.name": "weather",
        "gen_ai.completion.0.tool_calls.0.arguments": ARGUMENTS,
        "gen_ai.usage.prompt_tokens": 10,
        "gen_ai.usage.completion_tokens": 5,
        "llm.usage.total_tokens": 15,
    }
    second = {
        **{k: v for k, v in first.items() if not k.startswith("gen_ai.completion")},
        "gen_ai.completion.0.content": "Yes.",
    }
    tool = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "weather",
        "traceloop.entity.input": json.dumps({"input_str": "x", "inputs": CITY, "kwargs": {}}),
        "traceloop.entity.output": json.dumps({"output": "wet", "kwargs": {}}),
    }
    return [
        span("root", lasts=9, **{"traceloop.span.kind": "workflow"}),
        span("one", "root", at=1, name="openai.chat", **first),
        span("tool", "root", at=3, name="weather.tool", **tool),
        span("two", "root", at=5, name="openai.chat", **second),
    ]


def pydantic_ai_version_1() -> list[SpanRecord]:
    asked = {"event.name": "gen_ai.user.message", "role": "user", "content": "Rain?"}
    called = {"role": "assistant", "tool_calls": [OPENAI_CALL]}
    result = {"event.name": "gen_ai.tool.message", "role": "tool", "content": "wet", "id": "c1"}
    answer = {"role": "assistant", "content": "Yes."}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
    usage = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5}
    choice = {"event.name": "gen_ai.choice", "index": 0}
    history = [asked, {"event.name": "gen_ai.assistant.message", **called}, result]
    one = json.dumps([asked, {**choice, "message": called}])
    two = json.dumps([*history, {**choice, "message": answer}])
    everything = json.dumps([*history, {"event.name": "gen_ai.assistant.message", **answer}])
    total = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 10}
    run = {"agent_name": "a", "all_messages_events": everything, "final_result": "Yes.", **total}
    tool = {"gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c1"}
    tool |= {"tool_arguments": ARGUMENTS, "tool_response": "wet"}
    lib: dict[str, Any] = {"scope": "pydantic-ai"}
    return [
        span("root", name="agent run", lasts=9, **lib, **run),
        _with_events(span("one", "root", at=1, name="chat gpt-4o", **lib, **chat, **usage), one),
        span("tools", "root", at=3, name="running 1 tool", **lib),
        span("tool", "tools", at=3, name="running tool", **lib, **tool),
        _with_events(span("two", "root", at=5, name="chat gpt-4o", **lib, **chat, **usage), two),
    ]


def _with_events(record: SpanRecord, events: str) -> SpanRecord:
    return replace(record, attributes={**record.attributes, "events": events})


def strands_events() -> list[SpanRecord]:
    def event(name: str, **attributes: Any) -> SpanEvent:
        return SpanEvent(name=name, attributes=attributes)

    use = json.dumps([{"toolUse": {"toolUseId": "c1", "name": "weather", "input": CITY}}])
    done = json.dumps([{"toolResult": {"toolUseId": "c1", "content": [{"text": "wet"}]}}])
    asked = event("gen_ai.user.message", content=json.dumps([{"text": "Rain?"}]))
    yes = event("gen_ai.choice", message=json.dumps([{"text": "Yes."}]), finish_reason="end_turn")
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.usage.prompt_tokens": 10,
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
    }
    tool_events = (
        event("gen_ai.tool.message", role="tool", content=ARGUMENTS, id="c1"),
        event("gen_ai.choice", message=json.dumps([{"text": "wet"}]), id="c1"),
    )
    return [
        span(
            "root",
            lasts=9,
            events=(asked, event("gen_ai.choice", message="Yes.")),
            **{"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 99},
        ),
        span("one", "root", at=1, events=(asked, event("gen_ai.choice", message=use)), **chat),
        span(
            "tool",
            "root",
            at=3,
            events=tool_events,
            **{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"},
        ),
        span(
            "two",
            "root",
            at=5,
            events=(asked, event("gen_ai.tool.message", content=done), yes),
            **chat,
        ),
    ]


def vercel() -> list[SpanRecord]:
    def do(text: str, calls: Any) -> dict[str, Any]:
        return {
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.model.id": "gpt-4o",
            "ai.prompt.messages": json.dumps([{"role": "user", "content": "Rain?"}]),
            "ai.response.text": text,
            "ai.response.toolCalls": json.dumps(calls) if calls else "",
            "ai.usage.promptTokens": 10,
            "ai.usage.completionTokens": 5,
        }

    call = {"toolCallId": "c1", "toolName": "weather", "args": ARGUMENTS}
    outer = {
        "ai.operationId": "ai.generateText",
        "ai.prompt": json.dumps({"system": "s", "prompt": "Rain?"}),
        "ai.response.text": "Yes.",
        "ai.usage.promptTokens": 10,
    }
    tool = {
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": "weather",
        "ai.toolCall.id": "c1",
        "ai.toolCall.args": ARGUMENTS,
        "ai.toolCall.result": '"wet"',
    }
    return [
        span("root", lasts=9, **outer),
        span("one", "root", at=1, **do("", [call])),
        span("tool", "root", at=3, **tool),
        span("two", "root", at=5, **do("Yes.", None)),
    ]


def langfuse() -> list[SpanRecord]:
    def observed(kind: str, input_: Any, output: Any, **more: Any) -> dict[str, Any]:
        texts = [v if isinstance(v, str) else json.dumps(v) for v in (input_, output)]
        found = {"langfuse.observation.type": kind, "langfuse.observation.input": texts[0]}
        return {**found, "langfuse.observation.output": texts[1], **more}

    usage = {
        "langfuse.observation.model.name": "gpt-4o",
        "langfuse.observation.usage_details": '{"input": 10, "output": 5}',
    }
    asked = {"messages": [{"role": "user", "content": "Rain?"}]}
    called = {"role": "assistant", "tool_calls": [OPENAI_CALL]}
    yes = {"role": "assistant", "content": "Yes."}
    return [
        span("root", lasts=9, **observed("agent", {"args": ["Rain?"], "kwargs": {}}, "Yes.")),
        span("one", "root", at=1, **observed("generation", asked, called, **usage)),
        span(
            "tool",
            "root",
            name="weather",
            at=3,
            **observed("tool", {"args": [], "kwargs": CITY}, "wet"),
        ),
        span("two", "root", at=5, **observed("generation", asked, yes, **usage)),
    ]


def mlflow() -> list[SpanRecord]:
    def run(kind: str, inputs: Any, outputs: Any, **more: Any) -> dict[str, Any]:
        found = {"mlflow.spanType": json.dumps(kind), "mlflow.spanInputs": json.dumps(inputs)}
        return {**found, "mlflow.spanOutputs": json.dumps(outputs), **more}

    usage = {"mlflow.chat.tokenUsage": '{"input_tokens": 10, "output_tokens": 5}'}
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Rain?"}]}
    called = {
        "choices": [{"index": 0, "message": {"role": "assistant", "tool_calls": [OPENAI_CALL]}}]
    }
    yes = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}}]}
    name = {"mlflow.spanFunctionName": '"weather"'}
    return [
        span("root", lasts=9, **run("AGENT", {"q": "Rain?"}, "Yes.")),
        span("one", "root", at=1, **run("CHAT_MODEL", asked, called, **usage)),
        span("tool", "root", at=3, **run("TOOL", CITY, "wet", **name)),
        span("two", "root", at=5, **run("CHAT_MODEL", asked, yes, **usage)),
    ]


STORIES: list[Callable[[], list[SpanRecord]]] = [
    openllmetry_before_the_conventions,
    pydantic_ai_version_1,
    strands_events,
    vercel,
    langfuse,
    mlflow,
]


@pytest.mark.parametrize("story", STORIES)
def test_every_dialect_tells_the_same_story(story: Callable[[], list[SpanRecord]]) -> None:
    trace = assemble(story())
    assert trace.kind == "agent"
    assert (trace.input_text, trace.output_text) == ("Rain?", "Yes.")
    assert len(trace.turns) == 1
    (call,) = trace.tool_calls
    assert (call.name, call.arguments, call.output) == ("weather", CITY, "wet")
    assert (call.source, call.id, call.span_id) == ("both", "c1", "tool")
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (20, 10)
    assert trace.models == ("gpt-4o",)
    assert len(trace.llm_calls) == 2


def test_an_agent_that_records_no_model_calls_keeps_its_totals() -> None:
    trace = assemble(
        [
            span(
                "agent",
                lasts=9,
                **{
                    "openinference.span.kind": "AGENT",
                    "input.value": "Rain?",
                    "output.value": "Yes.",
                    "llm.model_name": "claude-sonnet-4-5",
                    "llm.token_count.prompt": 10,
                    "llm.cost.total": 0.02,
                },
            ),
            span(
                "tool",
                "agent",
                at=1,
                **{
                    "openinference.span.kind": "TOOL",
                    "tool.name": "weather",
                    "tool.parameters": ARGUMENTS,
                    "output.value": "wet",
                },
            ),
        ]
    )
    assert (trace.usage.input_tokens, trace.cost.usd) == (10, 0.02)
    assert trace.tool_calls[0].arguments == CITY


def test_logfire_records_requests_and_responses_as_json() -> None:
    trace: Trace = assemble(
        [
            span(
                "llm",
                scope="logfire.openai",
                name="Chat Completion with 'gpt-4o'",
                request_data=json.dumps(
                    {"model": "gpt-4o", "messages": [{"role": "user", "content": "Rain?"}]}
                ),
                response_data=json.dumps(
                    {
                        "message": {"role": "assistant", "content": "Yes."},
                        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
                    }
                ),
            )
        ]
    )
    assert (trace.kind, trace.models) == ("llm", ("gpt-4o",))
    assert (trace.input_text, trace.output_text) == ("Rain?", "Yes.")
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (10, 5)


def test_content_in_one_log_of_the_current_convention_is_joined() -> None:
    details = {
        "gen_ai.input.messages": [
            {"role": "user", "parts": [{"type": "text", "content": "Rain?"}]}
        ],
        "gen_ai.output.messages": [
            {"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]}
        ],
    }
    log = LogRecord(
        trace_id=TRACE_ID,
        span_id="llm",
        event_name="gen_ai.client.inference.operation.details",
        time_ns=START,
        attributes=details,
    )
    trace = assemble([span("llm", **{"gen_ai.operation.name": "chat"})], [log])
    assert (trace.input_text, trace.output_text) == ("Rain?", "Yes.")
