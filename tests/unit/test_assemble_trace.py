"""A trace says what ran, what was asked and answered, and whether it failed."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest

from tests.helpers.agent_spans import TRACE_ID, agent, asks, llm, said, span, text, tool
from tracejury.assemble import assemble
from tracejury.codec import dump_trace, load_trace
from tracejury.trace import LogRecord, SpanEvent, SpanRecord, Trace
from tracejury.view import rfc3339, trace_to_api

IN = "gen_ai__input__messages"
OUT = "gen_ai__output__messages"


def chat(
    span_id: str, question: str, answer: str, parent: str = "agent", **more: Any
) -> SpanRecord:
    return llm(
        span_id,
        parent,
        **{IN: text(said("user", question)), OUT: text(said("assistant", answer))},
        **more,
    )


@pytest.mark.parametrize(
    ("spans", "kind"),
    [
        ([agent()], "agent"),
        ([agent(gen_ai__operation__name="create_agent")], "setup"),
        ([llm("llm", "")], "llm"),
        ([tool("tool", "")], "tool"),
        ([span("w", openinference__span__kind="CHAIN"), llm("llm", "w")], "agent"),
        ([span("m", mcp__method__name="initialize")], "setup"),
        ([llm("e", "", gen_ai__operation__name="embeddings")], "setup"),
        ([span("e", openinference__span__kind="EVALUATOR"), llm("llm", "e")], "evaluator"),
        ([span("GET /")], "other"),
    ],
)
def test_the_trace_has_a_kind(spans: list[SpanRecord], kind: str) -> None:
    assert assemble(spans).kind == kind


def test_the_agents_own_messages_are_the_turn() -> None:
    trace = assemble(
        [
            agent(**{IN: text(said("user", "q")), OUT: text(said("assistant", "a"))}),
            chat("llm", "prompt made of q", "draft", at=1),
        ]
    )
    assert (trace.input_text, trace.output_text) == ("q", "a")
    assert len(trace.turns) == 1


def test_an_agent_without_messages_takes_those_of_its_model_calls() -> None:
    trace = assemble(
        [
            agent(),
            llm(
                "one",
                at=1,
                **{IN: text(said("user", "q")), OUT: text(said("assistant", asks("c")))},
            ),
            tool("tool", at=2, lasts=3),
            agent("sub", "tool", at=2),
            chat("inner", "sub question", "sub answer", "sub", at=3),
            chat("two", "q", "a", at=6),
            llm("last", at=7, **{OUT: text(said("assistant", "hm", asks("c2")))}),
        ]
    )
    assert (trace.input_text, trace.output_text) == ("q", "a")


def test_several_runs_in_one_trace_are_several_turns() -> None:
    trace = assemble(
        [
            span("session", lasts=100),
            agent("one", "session", at=1, lasts=5),
            chat("l1", "q1", "a1", "one", at=2),
            agent("two", "session", at=10, lasts=5),
            chat("l2", "q2", "a2", "two", at=11),
        ]
    )
    assert [(turn.input, turn.output) for turn in trace.turns] == [("q1", "a1"), ("q2", "a2")]
    assert (trace.input_text, trace.output_text) == ("q1", "a2")


def test_agents_that_hand_over_work_on_one_turn() -> None:
    trace = assemble(
        [
            span("workflow", lasts=100),
            agent("one", "workflow", at=1, lasts=5),
            llm("l1", "one", at=2, **{IN: text(said("user", "q"))}),
            agent("two", "workflow", at=10, lasts=5),
            chat("l2", "q", "a", "two", at=11),
        ]
    )
    assert [(turn.input, turn.output) for turn in trace.turns] == [("q", "a")]


def test_agents_inside_a_workflow_with_a_question_are_one_turn() -> None:
    trace = assemble(
        [
            span(
                "crew",
                lasts=100,
                openinference__span__kind="CHAIN",
                input__value="q",
                output__value="a",
            ),
            agent("one", "crew", at=1, lasts=5),
            chat("l1", "task one", "r1", "one", at=2),
            agent("two", "crew", at=10, lasts=5),
            chat("l2", "task two", "r2", "two", at=11),
        ]
    )
    assert [turn.input for turn in trace.turns] == ["q"]
    assert trace.output_text == "a"


def test_a_run_without_messages_is_split_where_its_prompts_show_a_conversation() -> None:
    grown = [said("user", "q1"), said("assistant", "a1"), said("user", "q2")]
    trace = assemble(
        [
            agent(),
            chat("l1", "q1", "a1", at=1),
            llm("l2", at=2, **{IN: text(*grown), OUT: text(said("assistant", "a2"))}),
        ]
    )
    assert [(turn.input, turn.output) for turn in trace.turns] == [("q1", "a1"), ("q2", "a2")]


def test_prompts_that_do_not_follow_each_other_are_one_turn() -> None:
    trace = assemble([agent(), chat("l1", "classify", "x", at=1), chat("l2", "answer", "a", at=2)])
    assert [(turn.input, turn.output) for turn in trace.turns] == [("classify", "a")]


def test_earlier_runs_in_an_agents_messages_are_left_out() -> None:
    messages = [said("user", "old"), said("assistant", "old a"), said("user", "new")]
    trace = assemble(
        [
            agent(
                scope="pydantic-ai",
                final_result="done",
                **{
                    "pydantic_ai.all_messages": json.dumps(messages),
                    "pydantic_ai.new_message_index": 2,
                },
            )
        ]
    )
    assert (trace.input_text, trace.output_text) == ("new", "done")


@pytest.mark.parametrize(
    ("spans", "failed", "count"),
    [
        ([agent(status="error"), llm("llm", at=1)], True, 1),
        ([agent(), llm("llm", at=1, status="error")], False, 1),
        ([agent(status="ok"), tool("t", at=1, status="error")], False, 1),
        ([agent("a", "lost", status="ok"), llm("llm", "lost", at=200, status="error")], True, 1),
        ([agent("a", "lost", status="error"), llm("llm", "lost", at=200)], False, 1),
        ([llm("llm", "", error__type="timeout")], True, 1),
        ([llm("llm", "", status="ok", error__type="timeout")], False, 0),
    ],
)
def test_the_run_failed_if_its_root_did(spans: list[SpanRecord], failed: bool, count: int) -> None:
    trace = assemble(spans)
    assert (trace.has_error, trace.error_count) == (failed, count)


def test_any_order_of_arrival_gives_the_same_trace() -> None:
    spans = [
        agent(session__id="s", resource={"service.name": "shop"}),
        chat("one", "q", "a", at=1),
        tool("tool", at=1),
        chat("two", "q", "a", at=1),
    ]
    traces = {repr(assemble(order)) for order in permutations(spans)}
    assert len(traces) == 1
    assert (assemble(spans).session_id, assemble(spans).service_name) == ("s", "shop")


def test_of_two_versions_of_a_span_the_ended_one_wins() -> None:
    ended = tool("tool", "", gen_ai__tool__call__result="r")
    started = SpanRecord(trace_id=TRACE_ID, span_id="tool", start_ns=ended.start_ns, seq=9)
    for order in ([ended, started], [started, ended]):
        trace = assemble(order)
        assert [call.output for call in trace.tool_calls] == ["r"]
        assert len(trace.spans) == 1


def test_pending_spans_are_dropped() -> None:
    pending = span("pending", "agent", scope="logfire", **{"logfire.span_type": "pending_span"})
    assert [s.span_id for s in assemble([agent(), pending]).spans] == ["agent"]


def test_orphans_are_roots_and_a_cycle_is_cut() -> None:
    trace = assemble(
        [span("a", "b", at=1), span("b", "c", at=2), span("c", "a", at=3), span("d", "x")]
    )
    assert {s.span_id for s in trace.spans} == set("abcd")
    assert trace.diagnostics == ("orphans", "no_root")


def test_a_span_that_is_its_own_parent_is_a_root() -> None:
    assert len(assemble([agent("a", "a"), llm("b", "a")]).spans) == 2


def test_thousands_of_nested_spans_are_no_trouble() -> None:
    deep = [llm(str(n), str(n - 1) if n else "", at=n / 1000) for n in range(3000)]
    assert len(assemble(deep).llm_calls) == 1


def test_logs_are_read_like_events_even_if_they_name_no_span() -> None:
    def log(name: str, body: Any, seq: int, span_id: str = "llm") -> LogRecord:
        return LogRecord(trace_id=TRACE_ID, span_id=span_id, event_name=name, body=body, seq=seq)

    logs = [
        log("gen_ai.user.message", {"content": "q1"}, 1),
        log("gen_ai.assistant.message", {"content": "a1"}, 2, ""),
        log("", {"event.name": "gen_ai.user.message", "content": "q2"}, 3, "unknown"),
        log("gen_ai.choice", {"index": 0, "message": {"content": "a2"}}, 4),
    ]
    for order in (logs, logs[::-1], logs + logs):
        trace = assemble([llm("llm", "")], order)
        assert [m.text for m in trace.llm_calls[0].input] == ["q1", "a1", "q2"]
        assert (trace.input_text, trace.output_text) == ("q2", "a2")


def test_logs_alone_are_an_empty_trace() -> None:
    trace = assemble([], [LogRecord(trace_id=TRACE_ID)], revision=3)
    assert (trace.trace_id, trace.revision, trace.spans) == (TRACE_ID, 3, ())


def test_what_was_not_recorded_is_said() -> None:
    assert assemble([agent(), llm("llm")]).flags.not_captured
    assert not assemble([agent(), chat("llm", "q", "a")]).flags.not_captured
    redacted = assemble([agent(), llm("llm", input__value="__REDACTED__")])
    assert redacted.flags.redacted
    assert redacted.flags.not_captured


def test_documents_are_found() -> None:
    trace = assemble(
        [
            span(
                "r",
                openinference__span__kind="RETRIEVER",
                input__value="refunds",
                **{
                    "retrieval.documents.0.document.id": "d1",
                    "retrieval.documents.0.document.content": "text",
                    "retrieval.documents.0.document.score": "0.5",
                    "retrieval.documents.0.document.metadata": '{"page": 2}',
                },
            ),
            span(
                "g",
                at=1,
                gen_ai__operation__name="retrieval",
                **{"gen_ai.retrieval.documents": '[{"id": 7}]'},
            ),
        ]
    )
    one, two = trace.documents
    assert (one.id, one.content, one.score, one.metadata) == ("d1", "text", 0.5, {"page": 2})
    assert (one.query, one.span_id, two.id) == ("refunds", "r", "7")


def test_a_model_call_is_described() -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    call = assemble(
        [
            chat(
                "llm",
                "q",
                "a",
                "",
                gen_ai__system_instructions='[{"type": "text", "content": "Be kind."}]',
                gen_ai__tool__definitions=json.dumps(tools),
                gen_ai__request__temperature=0.2,
                gen_ai__response__finish_reasons=["STOP"],
                gen_ai__response__time_to_first_chunk=0.25,
                gen_ai__response__model="gpt-4o-2024-08-06",
            )
        ]
    ).llm_calls[0]
    assert [message.role for message in call.input] == ["system", "user"]
    assert [(tool.name, tool.parameters) for tool in call.tool_definitions] == [
        ("f", {"type": "object"})
    ]
    assert (call.params, call.finish_reasons, call.ttft_ms) == (
        {"temperature": 0.2},
        ("stop",),
        250,
    )
    assert call.model == "gpt-4o-2024-08-06"


def test_the_models_of_a_trace_are_those_asked_for() -> None:
    trace = assemble([llm("llm", "", gen_ai__response__model="gpt-4o-2024-08-06")])
    assert trace.models == ("gpt-4o",)


def test_events_keep_the_stack_of_an_exception() -> None:
    event = SpanEvent(
        name="exception",
        attributes={
            "exception.type": "E",
            "exception.message": "m",
            "exception.stacktrace": "at x",
        },
    )
    error = assemble([agent(status="error", events=(event,))]).spans[0].error
    assert error is not None
    assert (error.type, error.message, error.stack) == ("E", "m", "at x")


@pytest.fixture
def trace() -> Trace:
    return assemble(
        [
            agent(session__id="s", user__id="u", resource={"service.name": "shop"}),
            chat("llm", "q", "a", at=1, gen_ai__usage__input_tokens=3),
            tool("tool", at=2, gen_ai__tool__call__result='{"a": [1]}'),
        ]
    )


def test_a_trace_is_the_same_after_writing_and_reading(trace: Trace) -> None:
    assert load_trace(dump_trace(trace)) == trace


def test_the_api_shows_all_of_a_trace_as_json(trace: Trace) -> None:
    shown = trace_to_api(trace)
    assert json.loads(json.dumps(shown)) == shown
    assert shown["start_time"].endswith("Z")
    assert (shown["input_text"], shown["output_text"]) == ("q", "a")
    assert shown["usage"]["input_tokens"] == 3
    assert shown["tool_calls"][0]["output"] == {"a": [1]}
    assert shown["flags"] == {"redacted": False, "truncated": False, "not_captured": False}
    assert [s["kind"] for s in shown["spans"]] == ["agent", "llm", "tool"]


def test_times_have_nanoseconds_and_stay_in_range() -> None:
    assert rfc3339(1_790_000_000_000_000_001) == "2026-09-21T14:13:20.000000001Z"
    assert rfc3339(0) is None
    assert rfc3339(2**64 - 1) == "2554-07-21T23:34:33.709551615Z"
    assert rfc3339(-5) is None
