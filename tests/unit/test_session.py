"""What a session says of its traces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tracejury.session import session_kind, session_trace
from tracejury.trace import (
    Cost,
    Flags,
    Message,
    Part,
    Span,
    ToolCall,
    Trace,
    Turn,
    Usage,
)

RUN = Trace(
    trace_id="a" * 32,
    kind="agent",
    name="chat",
    input_text="hello",
    output_text="hi",
    agent_name="booker",
    service_name="booking",
    user_id="ada",
    session_id="chat-17",
    start_ns=10,
    end_ns=20,
    usage=Usage(input_tokens=5, total_tokens=7),
    cost=Cost(usd=0.5, source="reported"),
    models=("m1",),
    turns=(Turn(input="hello", output="hi"),),
    tool_calls=(ToolCall(name="search", id="call_0"),),
    spans=(Span(span_id="1" * 16),),
)
LATER = replace(
    RUN,
    trace_id="b" * 32,
    start_ns=30,
    end_ns=45,
    input_text="more",
    output_text="",
    models=("m2",),
)
SETUP = replace(RUN, trace_id="c" * 32, kind="setup", start_ns=1, input_text="setup")


def text(role: str, said: str) -> Message:
    return Message(role=role, parts=(Part(type="text", text=said),))  # type: ignore[arg-type]


def test_a_session_of_one_run_is_that_run_under_the_id_of_the_session() -> None:
    found = session_trace([RUN], session_id="chat-17", revision=3)
    assert found == replace(RUN, trace_id="chat-17", revision=3)


def test_no_traces_are_an_empty_session() -> None:
    found = session_trace([], session_id="chat-17")
    assert (found.trace_id, found.kind, found.diagnostics) == ("chat-17", "other", ("no_traces",))
    assert found.flags == Flags()


def test_runs_add_up_in_order_of_start() -> None:
    found = session_trace([LATER, SETUP, RUN], session_id="chat-17")
    assert (found.input_text, found.output_text) == ("hello", "hi")
    assert (found.start_ns, found.end_ns, found.models) == (10, 45, ("m1", "m2"))
    assert found.usage == Usage(input_tokens=10, total_tokens=14)
    assert found.cost == Cost(usd=1.0, source="reported")
    assert [len(x) for x in (found.turns, found.tool_calls, found.spans)] == [2, 2, 2]


def test_without_a_run_the_other_traces_are_the_session() -> None:
    found = session_trace([SETUP])
    assert (found.kind, found.input_text) == ("setup", "setup")


def test_a_trace_without_a_start_comes_last() -> None:
    unknown = replace(LATER, start_ns=0, end_ns=0, input_text="unknown", output_text="last")
    found = session_trace([unknown, RUN])
    assert (found.input_text, found.output_text, found.start_ns) == ("hello", "last", 10)


def test_who_is_said_only_where_all_agree() -> None:
    other = replace(LATER, agent_name="planner", user_id="")
    found = session_trace([RUN, other])
    assert (found.agent_name, found.user_id, found.service_name) == ("", "ada", "booking")


@pytest.mark.parametrize(
    ("cost", "usage", "expected"),
    [
        (Cost(), Usage(total_tokens=3), Cost()),
        (Cost(), Usage(), Cost(usd=0.5, source="reported")),
        (Cost(usd=0.25, source="estimated"), Usage(), Cost(usd=0.75, source="estimated")),
    ],
)
def test_an_unknown_cost_is_not_taken_for_nothing(cost: Cost, usage: Usage, expected: Cost) -> None:
    assert session_trace([RUN, replace(LATER, cost=cost, usage=usage)]).cost == expected


def test_content_counts_as_not_captured_only_where_no_run_has_any() -> None:
    hidden = replace(LATER, flags=Flags(not_captured=True))
    assert not session_trace([RUN, hidden]).flags.not_captured
    assert session_trace([hidden]).flags.not_captured


def test_a_cut_session_is_truncated_and_says_so() -> None:
    found = session_trace([RUN], is_cut=True)
    assert found.flags.truncated
    assert found.diagnostics == ("session_cut",)


def test_a_question_that_is_asked_again_without_an_answer_is_no_history() -> None:
    first = replace(RUN, messages=(text("user", "hello"),))
    again = replace(LATER, messages=(text("user", "hello"), text("assistant", "hi")))
    assert [m.text for m in session_trace([first, again]).messages] == ["hello", "hello", "hi"]


def test_a_tool_call_in_the_history_counts_once() -> None:
    call = Message(role="assistant", parts=(Part(type="tool_call", id="c1", name="search"),))
    result = Message(role="tool", parts=(Part(type="tool_result", id="c1", output=[1]),))
    first = replace(RUN, messages=(text("user", "find"), call))
    later = replace(LATER, messages=(text("user", "find"), call, result, text("assistant", "ok")))
    found = session_trace([first, later]).messages
    assert found == (text("user", "find"), call, result, text("assistant", "ok"))


def test_changed_instructions_are_kept_and_the_same_ones_are_not_repeated() -> None:
    first = replace(RUN, messages=(text("system", "be brief"), text("user", "a")))
    second = replace(LATER, messages=(text("system", "be brief"), text("user", "b")))
    third = replace(LATER, trace_id="d" * 32, start_ns=50, messages=(text("system", "be kind"),))
    found = session_trace([first, second, third]).messages
    assert [m.text for m in found] == ["be brief", "a", "b", "be kind"]


def test_the_kind_of_a_session_is_the_most_of_an_agent_in_it() -> None:
    assert session_kind(["tool", "setup", "agent"]) == "agent"
    assert session_kind(["setup", "llm"]) == "llm"
    assert session_kind([]) == "other"
