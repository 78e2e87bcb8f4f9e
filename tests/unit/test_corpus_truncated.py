"""Exporters that cut long attributes: what stands before the cut is used, and the trace says so."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.helpers.corpus import CORPUS, NOT_RECORDED, case_names, read_case, read_expected
from tests.helpers.differences import differences
from tracejury.assemble import assemble
from tracejury.trace import SpanRecord
from tracejury.view import trace_to_api

LIMIT_CHARS = 1024
# What a conversation longer than the limit cannot tell: its later questions.
LOST = {"turns"}
LOST_IN_CASES = {
    "genkit_js": {"output_tokens"},
    "llamaindex_native": {"tool_calls"},
    "oi_haystack": {"tool_calls"},
    "pydantic_ai_2024": {"tool_calls"},
}


def cut(value: Any) -> Any:
    if isinstance(value, list):
        return [cut(item) for item in value]
    return value[:LIMIT_CHARS] if isinstance(value, str) else value


def cut_span(span: SpanRecord) -> SpanRecord:
    """The span as an exporter with a limit on attribute values sends it."""
    return replace(
        span,
        attributes={key: cut(value) for key, value in span.attributes.items()},
        events=tuple(
            replace(event, attributes={key: cut(value) for key, value in event.attributes.items()})
            for event in span.events
        ),
    )


@pytest.mark.parametrize("name", case_names())
def test_what_was_cut_off_takes_nothing_else_with_it(name: str) -> None:
    spans, logs = read_case(CORPUS / "captures" / name)
    expected = {
        key: fact
        for key, fact in read_expected(name).items()
        if key not in LOST | LOST_IN_CASES.get(name, set()) and (name, key) not in NOT_RECORDED
    }
    traces = [
        assemble(
            [cut_span(span) for span in spans if span.trace_id == trace_id],
            [log for log in logs if log.trace_id == trace_id],
        )
        for trace_id in {span.trace_id: None for span in spans}
    ]
    assert differences(expected, [trace_to_api(trace) for trace in traces]) == []


def said(*texts: str) -> str:
    roles = ("user", "assistant")
    return json.dumps(
        [
            {"role": roles[i % 2], "parts": [{"type": "text", "content": text}]}
            for i, text in enumerate(texts)
        ]
    )


def llm(span_id: str, parent: str, **attributes: Any) -> SpanRecord:
    return SpanRecord(
        trace_id="ab" * 16,
        span_id=span_id * 16,
        parent_span_id=parent * 16,
        name="chat m",
        start_ns=1,
        end_ns=2,
        attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **attributes},
    )


def test_the_start_of_a_conversation_that_was_cut_off_is_read() -> None:
    span = llm("a", "", **{"gen_ai.input.messages": said("Hi", "Hello", "And now?")[:-40]})
    trace = assemble([span])
    assert trace.input_text == "Hi"
    assert trace.flags.truncated


def test_a_whole_text_elsewhere_goes_before_one_that_was_cut_off() -> None:
    agent = replace(
        llm("a", "", **{"gen_ai.input.messages": said("Hi", "Hello", "And now?")[:-40]}),
        name="invoke_agent x",
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.input.messages": said("Hi", "Hello", "And now?")[:-40],
            "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "te',
        },
    )
    inner = llm(
        "b",
        "a",
        **{
            "gen_ai.input.messages": said("And now?"),
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "Bye"}]),
        },
    )
    trace = assemble([agent, inner])
    assert (trace.input_text, trace.output_text) == ("And now?", "Bye")


@pytest.mark.parametrize("text", ["[Note] all is well", "{curly} talk", "[INST] hi", "[", "{"])
def test_text_that_only_begins_like_json_was_not_cut_off(text: str) -> None:
    trace = assemble([llm("a", "", **{"gen_ai.output.messages": text})])
    assert not trace.flags.truncated
    assert trace.output_text == text
