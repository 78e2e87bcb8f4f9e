"""Calls that look alike and are not the same: none is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracejury.assemble import assemble
from tracejury.trace import LogRecord, SpanRecord, Trace

ROOT = "0" * 15 + "1"


def span(
    number: int, parent: str = ROOT, *, library: str = "a", at: int = 1, **more: Any
) -> SpanRecord:
    service = more.pop("service", "")
    return SpanRecord(
        trace_id="t",
        span_id=f"{number:016x}",
        parent_span_id=parent,
        name="span",
        start_ns=at * 1000,
        end_ns=at * 1000 + 100_000,
        attributes={key.replace("__", "."): value for key, value in more.items()},
        scope_name=library,
        resource={"service.name": service} if service else {},
    )


def agent(number: int = 1, parent: str = "", **more: Any) -> SpanRecord:
    return span(number, parent, gen_ai__operation__name="invoke_agent", **more)


def tool(number: int, parent: str = ROOT, result: str = "ok", **more: Any) -> SpanRecord:
    recorded: dict[str, Any] = {
        "gen_ai__tool__name": "look",
        "gen_ai__tool__call__arguments": '{"q": 1}',
    }
    recorded |= {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__call__result": result}
    return span(number, parent, **recorded, **more)


def chat(
    number: int, parent: str = ROOT, asked: str = "Go?", said: str = "OK", **more: Any
) -> SpanRecord:
    recorded: dict[str, Any] = {"gen_ai__input__messages": message("user", asked)}
    recorded |= {"gen_ai__output__messages": message("assistant", said)}
    recorded |= {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m"}
    tokens: dict[str, Any] = {"gen_ai__usage__input_tokens": 5, "gen_ai__usage__output_tokens": 1}
    return span(number, parent, **recorded, **tokens, **more)


def message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def counted(*spans: SpanRecord) -> tuple[int, int, int | None]:
    """The numbers of tool calls, model calls and tokens."""
    trace: Trace = assemble(spans)
    assert assemble(spans[::-1]) == trace
    return len(trace.tool_calls), len(trace.llm_calls), trace.usage.total_tokens


def test_one_library_records_each_call_once() -> None:
    assert counted(agent(), tool(2), tool(3), tool(4, at=2)) == (3, 0, None)
    assert counted(agent(), chat(2), chat(3), chat(4, at=2)) == (0, 3, 18)


def test_two_libraries_that_record_the_same_calls_do_not_double_them() -> None:
    tools = [tool(2), tool(3, at=2), tool(4, library="b"), tool(5, library="b", at=2)]
    assert counted(agent(), *tools) == (2, 0, None)
    assert counted(agent(), chat(2), chat(3, library="b")) == (0, 1, 6)


def test_calls_that_gave_different_results_are_different_calls() -> None:
    assert counted(agent(), tool(2, result="sun"), tool(3, result="rain", library="b"))[0] == 2
    assert counted(agent(), tool(2, result="sun"), tool(3, result="sun, 18", library="b"))[0] == 1


def test_calls_on_different_questions_are_different_calls() -> None:
    assert counted(agent(), chat(2), chat(3, library="b", asked="Stop?")) == (0, 2, 12)
    assert counted(agent(), chat(2), chat(3, library="b", asked="Context. Go?")) == (0, 1, 6)


def test_agents_beside_each_other_make_their_own_calls() -> None:
    agents = [agent(), agent(2, ROOT), agent(3, ROOT)]
    inside = [f"{number:016x}" for number in (2, 3)]
    models = (chat(4, inside[0]), chat(5, inside[1], library="b"))
    tools = (tool(6, inside[0]), tool(7, inside[1], library="b"))
    assert counted(*agents, *models, *tools) == (2, 2, 12)
    agents[2] = agent(3, ROOT, library="b")
    assert counted(*agents, *models, *tools) == (1, 1, 6)


def test_services_make_their_own_calls() -> None:
    models = (chat(2, service="front"), chat(3, service="back", library="b"))
    tools = (tool(4, service="front"), tool(5, service="back", library="b"))
    assert counted(agent(), *models, *tools) == (2, 2, 12)
    unnamed = chat(3, service="unknown_service:python", library="b")
    assert counted(agent(), models[0], unnamed) == (0, 1, 6)


def test_a_library_that_gets_one_response_id_for_all_makes_many_calls() -> None:
    same = {"gen_ai__response__id": "chatcmpl-1"}
    assert counted(agent(), chat(2, **same), chat(3, said="No", **same)) == (0, 2, 12)
    assert counted(agent(), chat(2, **same), chat(3, asked="Stop?", at=2, **same)) == (0, 2, 12)
    assert counted(agent(), chat(2, **same), chat(3, at=2, **same)) == (0, 1, 6)


@pytest.mark.parametrize(
    "output",
    [
        {"type": "tool", "content": "hammer", "price": 3},
        {"result": {"a": 1}},
        {"content": "x"},
        {"output": {"a": 1}},
        {"input": "x"},
        {"status": "error", "content": "x"},
        {"error": None},
        {"error": "", "value": 1},
        {"error": False},
        {"error": "none"},
        {"error": 3, "slope": 2.5},
        {"error": "at most 0.1", "slope": 2.5},
    ],
)
def test_what_a_tool_gives_back_stays_what_it_is(output: dict[str, Any]) -> None:
    (call,) = assemble([agent(), tool(2, result=json.dumps(output))]).tool_calls
    assert (call.output, call.error) == (output, None)


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "bob", "arguments": "x"},
        {"name": "bob", "arguments": {"x": 1}},
        {"kwargs": {"a": 1}},
        {"args": [1], "kwargs": {"a": 1}},
        {"input": '{"a": 1}'},
        {"input": "x"},
        {"type": "tool_call", "args": {"a": 1}},
    ],
)
def test_what_a_model_asks_for_stays_what_it_is(arguments: dict[str, Any]) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "look", "arguments": arguments}
    said = json.dumps([{"role": "assistant", "parts": [call]}])
    asked = span(2, ROOT, gen_ai__operation__name="chat", gen_ai__output__messages=said)
    (found,) = assemble([agent(), asked]).tool_calls
    assert (found.name, found.arguments) == ("look", arguments)


def test_the_request_names_the_sole_argument_that_a_span_holds_bare() -> None:
    call = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"input": '{"q": 1}'}}
    said = json.dumps([{"role": "assistant", "parts": [call]}])
    asked = span(2, ROOT, gen_ai__operation__name="chat", gen_ai__output__messages=said)
    (found,) = assemble([agent(), asked, tool(3, at=2)]).tool_calls
    assert (found.arguments, found.source) == ({"input": '{"q": 1}'}, "both")


def test_the_body_of_a_log_may_have_keys_that_are_no_text() -> None:
    log = LogRecord(trace_id="t", span_id=ROOT, time_ns=1, event_name="x", body={1: 2, "a": 3})
    (root,) = assemble([agent()], [log]).spans
    assert root.events[0].attributes == {"1": 2, "a": 3}
