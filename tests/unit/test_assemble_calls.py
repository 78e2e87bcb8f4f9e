"""Each tool call counts once, wherever it was recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers.agent_spans import agent, answers, asks, llm, said, span, text, tool
from tracejury.assemble import assemble
from tracejury.toolcalls import (
    extract_tool_calls,
    extract_tool_calls_names,
    extract_tool_calls_outputs,
    trace_to_str,
)
from tracejury.trace import SpanRecord, ToolCall

OUT = "gen_ai__output__messages"
IN = "gen_ai__input__messages"
ARGS = "gen_ai__tool__call__arguments"
RESULT = "gen_ai__tool__call__result"
ID = "gen_ai__tool__call__id"


def calls(*spans: SpanRecord) -> list[ToolCall]:
    return extract_tool_calls(assemble(spans))


def test_a_span_and_its_request_are_one_call_by_id() -> None:
    (call,) = calls(
        agent(),
        llm("llm", at=1, **{OUT: text(said("assistant", asks("c1", q="x")))}),
        tool("tool", at=3, **{ID: "c1", RESULT: '{"hits": 2}'}),
    )
    assert (call.name, call.id, call.source) == ("search", "c1", "both")
    assert (call.arguments, call.output, call.output_text) == (
        {"q": "x"},
        {"hits": 2},
        '{"hits":2}',
    )
    assert (call.span_id, call.requested_by_span_id, call.latency_ms) == ("tool", "llm", 1000)


def test_without_ids_calls_are_joined_by_name_and_arguments_then_by_order() -> None:
    found = calls(
        agent(),
        llm(
            "llm",
            at=1,
            **{
                OUT: text(
                    said(
                        "assistant",
                        asks("", q="a"),
                        asks("", q="b"),
                        asks("", q="c"),
                    )
                )
            },
        ),
        tool("second", at=3, **{ARGS: '{"q": "b"}'}),
        tool("first", at=4, **{ARGS: '{"q": "a"}'}),
        tool("third", at=5, **{ARGS: "not json"}),
    )
    assert [(c.span_id, c.arguments["q"], c.source) for c in found] == [
        ("second", "b", "both"),
        ("first", "a", "both"),
        ("third", "c", "both"),
    ]


def test_calls_with_different_names_are_not_joined() -> None:
    found = calls(
        agent(),
        llm("llm", at=1, **{OUT: text(said("assistant", asks("c1", "look")))}),
        tool("tool", at=3),
    )
    assert sorted((c.name, c.source) for c in found) == [("look", "message"), ("search", "span")]


def test_calls_repeated_as_history_are_no_new_calls() -> None:
    history = [said("user", "q"), said("assistant", asks("c1")), said("tool", answers("c1", "r"))]
    found = calls(
        agent(),
        llm("one", at=1, **{OUT: text(said("assistant", asks("c1")))}),
        llm("two", at=2, **{IN: text(*history), OUT: text(said("assistant", "done"))}),
        llm("three", at=3, **{IN: text(*history, said("assistant", "done"), said("user", "ok"))}),
    )
    assert [(c.id, c.output, c.source) for c in found] == [("c1", "r", "message")]


def test_a_bare_model_call_reports_what_it_asks_for() -> None:
    (call,) = calls(llm("llm", "", **{OUT: text(said("assistant", asks("c1", q="x")))}))
    assert (call.name, call.arguments, call.output, call.source) == (
        "search",
        {"q": "x"},
        None,
        "message",
    )


def test_the_output_comes_from_a_later_message_where_the_span_has_none() -> None:
    (call,) = calls(
        agent(),
        tool("tool", at=1, **{ID: "c1"}),
        llm("llm", at=3, **{IN: text(said("tool", answers("c1", "late")))}),
    )
    assert (call.output, call.source) == ("late", "span")


def test_nested_spans_of_one_call_are_one_and_fill_each_other() -> None:
    (call,) = calls(
        agent(),
        tool("outer", at=1, lasts=5, **{ID: "c1"}),
        span(
            "client",
            "outer",
            at=2,
            lasts=3,
            mcp__method__name="tools/call",
            gen_ai__tool__name="mcp__kb__search",
            **{ARGS: '{"q": "x"}'},
        ),
        span(
            "server",
            "client",
            at=3,
            mcp__method__name="tools/call",
            gen_ai__tool__name="search",
            **{RESULT: "found"},
        ),
    )
    assert (call.span_id, call.arguments, call.output, call.latency_ms) == (
        "outer",
        {"q": "x"},
        "found",
        5000,
    )


def test_a_tool_inside_another_tool_is_its_own_call() -> None:
    found = calls(agent(), tool("outer", at=1, tool_name="plan"), tool("inner", "outer", at=2))
    assert [c.name for c in found] == ["plan", "search"]


def test_a_sub_agent_may_call_the_tool_that_runs_it() -> None:
    found = calls(
        agent(),
        tool("outer", at=1, tool_name="delegate"),
        agent("sub", "outer", at=2),
        tool("inner", "sub", at=3, tool_name="delegate"),
    )
    assert len(found) == 2


def test_parallel_calls_of_one_name_stay_apart() -> None:
    found = calls(
        agent(),
        llm("llm", at=1, **{OUT: text(said("assistant", asks("c1", q="a"), asks("c2", q="b")))}),
        tool("two", at=3, **{ID: "c2"}),
        tool("one", at=3, **{ID: "c1"}),
    )
    assert {c.span_id: c.arguments for c in found} == {"one": {"q": "a"}, "two": {"q": "b"}}


def test_a_framework_prefix_does_not_hide_the_tool() -> None:
    (call,) = calls(
        agent(),
        llm("llm", at=1, **{OUT: text(said("assistant", asks("", "search", q="a")))}),
        tool("tool", at=3, tool_name="kb.search", **{ARGS: '{"q": "a"}'}),
    )
    assert (call.name, call.source) == ("search", "both")


def test_a_dispatcher_is_joined_with_the_tool_it_names() -> None:
    (call,) = calls(
        agent(),
        llm("llm", at=1, **{OUT: text(said("assistant", asks("c1", "search", q="a")))}),
        tool(
            "tool",
            at=3,
            tool_name="remote",
            **{ARGS: json.dumps({"name": "search", "args": {"q": "a"}}), RESULT: "r"},
        ),
    )
    assert (call.name, call.arguments, call.output) == ("search", {"q": "a"}, "r")


@pytest.mark.parametrize(
    ("attributes", "events"),
    [
        ({"error__type": "ValueError"}, ()),
        ({"gen_ai__tool__status": "error"}, ()),
        ({RESULT: '{"content": [{"type": "text", "text": "no"}], "isError": true}'}, ()),
        ({RESULT: '{"type": "tool", "content": "no", "status": "error"}'}, ()),
        ({"success": "false"}, ()),
    ],
)
def test_a_failed_call_has_an_error(attributes: dict[str, Any], events: Any) -> None:
    trace = assemble([agent(), tool("tool", at=1, **attributes)])
    assert trace.tool_calls[0].error is not None
    assert not trace.has_error


def test_a_failed_call_has_the_error_of_its_span() -> None:
    trace = assemble([agent(), tool("tool", at=1, status="error", message="no such order")])
    error = trace.tool_calls[0].error
    assert error is not None
    assert error.message == "no such order"
    assert (trace.error_count, trace.has_error) == (1, False)


def test_a_suspended_graph_is_no_error() -> None:
    trace = assemble([agent(status="error", message="GraphInterrupt(Interrupt(value='?'))")])
    assert (trace.error_count, trace.has_error) == (0, False)


def test_the_answer_of_pydantic_ai_is_no_tool_call() -> None:
    spans = [
        agent(scope="pydantic-ai"),
        llm(
            "llm",
            at=1,
            scope="pydantic-ai",
            **{OUT: text(said("assistant", asks("c1", "final_result", city="Oslo")))},
        ),
    ]
    assert calls(*spans) == []


def test_a_handoff_is_no_tool_call() -> None:
    found = calls(
        agent(),
        llm("llm", at=1, **{OUT: text(said("assistant", asks("c1", "transfer_to_billing")))}),
        span("h", "agent", name="handoff to billing", at=2, openinference__span__kind="TOOL"),
    )
    assert found == []


def test_an_agent_that_records_no_model_calls_tells_of_its_calls_itself() -> None:
    found = calls(
        agent(
            **{
                OUT: text(
                    said("user", "before"),
                    said("assistant", asks("c0")),
                    said("user", "now"),
                    said("assistant", asks("c1", q="x")),
                    said("tool", answers("c1", "r")),
                    said("assistant", "done"),
                )
            }
        )
    )
    assert [(c.id, c.output, c.source) for c in found] == [("c1", "r", "message")]


def test_hosted_tools_stand_in_messages_only() -> None:
    items = [{"type": "web_search_call", "id": "ws1", "action": {"query": "x"}}]
    (call,) = calls(llm("llm", "", **{OUT: json.dumps(items)}))
    assert (call.name, call.id) == ("web_search", "ws1")


def test_the_helpers_read_a_trace() -> None:
    trace = assemble(
        [
            agent(**{IN: text(said("user", "q?")), OUT: text(said("assistant", "a!"))}),
            tool("one", at=1, **{ARGS: '{"q": 1}', RESULT: "r1"}),
            tool("two", at=2, tool_name="buy", status="error", message="sold out"),
        ]
    )
    assert extract_tool_calls_names(trace) == ["search", "buy"]
    assert extract_tool_calls_outputs(trace) == ["r1", ""]
    assert trace_to_str(trace).splitlines() == [
        "Agent: a",
        "User: q?",
        'Tool call 1: search({"q":1})',
        "  result: r1",
        "Tool call 2: buy()",
        "  error: sold out",
        "Answer: a!",
    ]
    assert "[cut, 2 characters]" in trace_to_str(trace, max_chars=1)


def test_results_with_ids_answer_requests_without_in_order() -> None:
    result = {"type": "tool_call_response", "name": "search", "response": "one", "id": "r1"}
    found = calls(
        llm("a", **{OUT: text(said("assistant", asks("", q="a"), asks("", q="b")))}),
        llm(
            "b", at=3, **{IN: text(said("tool", result, {**result, "id": "r2", "response": "two"}))}
        ),
    )
    assert [(call.arguments, call.output, call.id) for call in found] == [
        ({"q": "a"}, "one", "r1"),
        ({"q": "b"}, "two", "r2"),
    ]
