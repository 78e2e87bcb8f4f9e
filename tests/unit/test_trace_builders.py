"""The builders of `tracejury.testing`."""

from __future__ import annotations

from tracejury.testing import (
    make_document,
    make_llm_call,
    make_message,
    make_span,
    make_tool_call,
    make_trace,
    make_turn,
)
from tracejury.trace import SpanError, ToolDefinition


def test_a_trace_needs_no_arguments() -> None:
    trace = make_trace()
    assert trace.kind == "agent"
    assert trace.latency_ms == 1_000
    assert [message.text for message in trace.messages] == [trace.input_text, trace.output_text]
    assert trace.turns[0].output == trace.output_text
    assert trace.usage.total_tokens is None


def test_calls_get_span_ids_and_spans() -> None:
    trace = make_trace(
        tool_calls=["search", make_tool_call("read", span_id="mine"), "write"],
        llm_calls=[make_llm_call()],
    )
    assert [call.span_id for call in trace.tool_calls] == ["tool-1", "mine", "tool-3"]
    spans = {span.span_id: span for span in trace.spans}
    assert list(spans) == ["root", "llm-1", "tool-1", "mine", "tool-3"]
    assert spans["mine"].parent_span_id == "root"
    assert spans["mine"].kind == "tool"


def test_a_call_that_was_only_asked_for_has_no_span_of_its_own() -> None:
    trace = make_trace(tool_calls=[make_tool_call("read", source="message")])
    assert [span.span_id for span in trace.spans] == ["root"]


def test_usage_is_the_sum_of_the_model_calls_unless_given() -> None:
    calls = [make_llm_call(input_tokens=5, output_tokens=None), make_llm_call(input_tokens=7)]
    summed = make_trace(llm_calls=calls).usage
    assert (summed.input_tokens, summed.output_tokens, summed.total_tokens) == (12, 20, 32)
    given = make_trace(llm_calls=calls, input_tokens=1).usage
    assert (given.input_tokens, given.output_tokens, given.total_tokens) == (1, None, None)


def test_a_failed_call_has_an_error_and_no_output() -> None:
    call = make_tool_call("read", error="no such file")
    assert call.error == SpanError(type="ToolError", message="no such file")
    assert (call.output, call.output_text) == (None, "")
    assert make_trace(tool_calls=[call]).error_count == 1


def test_arguments_are_empty_unless_given_and_none_where_not_recorded() -> None:
    assert make_tool_call("a").arguments == {}
    assert make_tool_call("a", {"x": 1}).arguments == {"x": 1}
    assert make_tool_call("a", None).arguments is None


def test_structured_output_has_its_json_as_text() -> None:
    assert make_tool_call("a", output={"é": 1}).output_text == '{"é": 1}'
    assert make_tool_call("a", output="text").output_text == "text"


def test_tools_may_be_named_or_defined() -> None:
    defined = ToolDefinition(name="read", parameters={"type": "object"})
    call = make_llm_call(tools=["search", defined])
    assert call.tool_definitions == (ToolDefinition(name="search"), defined)


def test_any_field_can_be_set() -> None:
    trace = make_trace(session_id="s", revision=3, tool_calls=[make_tool_call("a", id="c1")])
    assert (trace.session_id, trace.revision, trace.tool_calls[0].id) == ("s", 3, "c1")


def test_a_message_without_text_has_no_parts() -> None:
    assert make_message("user").parts == ()


def test_turns_give_the_input_the_output_and_the_messages() -> None:
    trace = make_trace(turns=[("hello", "hi"), make_turn("and now?", "bye", span_id="turn-2")])
    assert (trace.input_text, trace.output_text) == ("hello", "bye")
    assert [turn.span_id for turn in trace.turns] == ["root", "turn-2"]
    assert [message.text for message in trace.messages] == ["hello", "hi", "and now?", "bye"]
    assert make_trace(turns=[("a", "b")], output="c").output_text == "c"


def test_documents_get_ids_and_the_span_of_their_retriever() -> None:
    trace = make_trace(documents=["Paris is mild.", make_document("Rome", id="r", span_id="s")])
    assert [(item.id, item.span_id) for item in trace.documents] == [
        ("document-1", "retriever"),
        ("r", "s"),
    ]
    assert [(s.span_id, s.kind) for s in trace.spans[1:]] == [
        ("retriever", "retriever"),
        ("s", "retriever"),
    ]


def test_a_span_stands_below_the_root() -> None:
    span = make_span("a", "guardrail", latency_ms=5, agent_name="planner")
    assert (span.parent_span_id, span.kind, span.latency_ms) == ("root", "guardrail", 5)
    assert (span.end_ns - span.start_ns, span.agent_name) == (5_000_000, "planner")
