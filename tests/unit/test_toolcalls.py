"""Tool calls are read from traces and from spans of any framework."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode, Tracer

from tests.helpers.agent_spans import agent, tool
from tracejury.assemble import assemble
from tracejury.span_records import span_records
from tracejury.toolcalls import (
    extract_tool_calls,
    extract_tool_calls_names,
    extract_tool_calls_outputs,
    trace_to_str,
)

STYLES: dict[str, dict[str, Any]] = {
    "the GenAI conventions": {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weigh",
        "gen_ai.tool.call.arguments": '{"item": "flour", "grams": 250}',
        "gen_ai.tool.call.result": "weighed",
    },
    "OpenInference": {
        "openinference.span.kind": "TOOL",
        "tool.name": "weigh",
        "input.value": '{"item": "flour", "grams": 250}',
        "output.value": "weighed",
    },
    "UiPath": {
        "span_type": "tool",
        "tool.name": "weigh",
        "input.value": "{'item': 'flour', 'grams': 250}",
        "output.value": "weighed",
    },
    "OpenLLMetry": {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "weigh",
        "traceloop.entity.input": '{"item": "flour", "grams": 250}',
        "traceloop.entity.output": '"weighed"',
    },
}


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> Tracer:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("kitchen", "1.2")


@pytest.mark.parametrize("attributes", STYLES.values(), ids=STYLES)
def test_spans_of_the_sdk_are_read_in_any_style(
    attributes: dict[str, Any], tracer: Tracer, exporter: InMemorySpanExporter
) -> None:
    with tracer.start_as_current_span("weigh", attributes=attributes):
        pass
    (call,) = extract_tool_calls(exporter.get_finished_spans())
    assert (call.name, call.arguments) == ("weigh", {"item": "flour", "grams": 250})
    assert extract_tool_calls_outputs(exporter.get_finished_spans()) == ["weighed"]


def test_calls_come_in_order_of_start_though_exporters_get_them_in_order_of_end(
    tracer: Tracer, exporter: InMemorySpanExporter
) -> None:
    with tracer.start_as_current_span("cook", attributes={"gen_ai.operation.name": "invoke_agent"}):
        slow = tracer.start_span("preheat", attributes={"tool.name": "preheat"})
        with tracer.start_as_current_span("weigh", attributes={"tool.name": "weigh"}):
            pass
        slow.end()
    spans = exporter.get_finished_spans()
    assert [span.name for span in spans] == ["weigh", "preheat", "cook"]
    assert extract_tool_calls_names(spans) == ["preheat", "weigh"]


def test_what_the_sdk_knows_of_a_span_is_kept(
    tracer: Tracer, exporter: InMemorySpanExporter
) -> None:
    with tracer.start_as_current_span("outer"), tracer.start_as_current_span("inner") as span:
        span.set_attribute("names", ("a", "b"))
        span.add_event("tried", {"times": 2})
        span.set_status(Status(StatusCode.ERROR, "burnt"))
    inner, outer = span_records(exporter.get_finished_spans())
    assert inner.parent_span_id == outer.span_id
    assert inner.trace_id == outer.trace_id
    assert (len(inner.trace_id), len(inner.span_id)) == (32, 16)
    assert (inner.status, inner.status_message) == ("error", "burnt")
    assert inner.attributes == {"names": ["a", "b"]}
    assert [(event.name, event.attributes) for event in inner.events] == [("tried", {"times": 2})]
    assert (inner.otel_kind, inner.scope_name, inner.scope_version) == (
        "internal",
        "kitchen",
        "1.2",
    )
    assert inner.resource["telemetry.sdk.language"] == "python"
    assert 0 < outer.start_ns <= inner.start_ns <= inner.end_ns <= outer.end_ns


def test_spans_without_ids_and_times_each_count_in_the_order_given() -> None:
    names = [f"step-{number}" for number in range(12)] + ["step-0"]
    spans = [ReadableSpan(name=name, attributes={"tool.name": name}) for name in names]
    assert extract_tool_calls_names(spans) == names


def test_a_call_that_a_framework_made_up_does_not_count() -> None:
    spans = [
        ReadableSpan(name="a", attributes={"tool.name": "a", "tool.synthesized": True}),
        ReadableSpan(name="b", attributes={"tool.name": "b"}),
    ]
    assert extract_tool_calls_names(spans) == ["b"]


def test_otlp_json_is_read_as_a_document_and_as_a_list_of_spans() -> None:
    span = {
        "traceId": "0AF7651916CD43DD8448EB211C80319C",
        "spanId": "00f067aa0ba902b7",
        "name": "weigh",
        "kind": 1,
        "startTimeUnixNano": "1790000000000000000",
        "endTimeUnixNano": 1790000001000000000,
        "status": {"code": "STATUS_CODE_ERROR", "message": "empty"},
        "attributes": [
            {"key": "tool.name", "value": {"stringValue": "weigh"}},
            {"key": "input.value", "value": {"stringValue": '{"n": 1}'}},
        ],
    }
    document = {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "k"}, "spans": [span]}]}]}
    for source in (document, json.loads(json.dumps(document)), [span]):
        (call,) = extract_tool_calls(source)
        assert (call.name, call.arguments, call.latency_ms) == ("weigh", {"n": 1}, 1000)
        assert call.error is not None
        assert call.error.message == "empty"
    (record,) = span_records(document)
    assert record.trace_id == "0af7651916cd43dd8448eb211c80319c"


def test_records_and_the_spans_of_a_trace_are_read_alike() -> None:
    records = [agent(), tool("t1", tool_name="weigh", at=1), tool("t2", tool_name="mix", at=3)]
    trace = assemble(records)
    for source in (records, trace, trace.spans, iter(records)):
        assert extract_tool_calls_names(source) == ["weigh", "mix"]
    assert extract_tool_calls(trace) == list(trace.tool_calls)


def test_several_traces_follow_one_another(tracer: Tracer, exporter: InMemorySpanExporter) -> None:
    for name in ("weigh", "mix"):
        with tracer.start_as_current_span(name, attributes={"tool.name": name}):
            pass
    spans = exporter.get_finished_spans()
    assert extract_tool_calls_names(spans) == ["weigh", "mix"]
    assert trace_to_str(spans).count("Tool call 1: ") == 2


@pytest.mark.parametrize("source", [[], (), {"resourceSpans": []}])
def test_no_spans_have_no_calls(source: Any) -> None:
    assert extract_tool_calls(source) == []
    assert extract_tool_calls_names(source) == []
    assert extract_tool_calls_outputs(source) == []
    assert trace_to_str(source) == ""


@pytest.mark.parametrize("source", ["spans", 7, None, ["span"], [{"tool": 1}, 3], b"x"])
def test_what_is_no_span_is_refused_with_what_would_be(source: Any) -> None:
    with pytest.raises(TypeError, match=r"give spans of opentelemetry\.sdk"):
        extract_tool_calls(source)


def test_a_value_nested_without_end_is_cut() -> None:
    nested: Any = "deep"
    for _ in range(500):
        nested = [nested]
    (record,) = span_records([ReadableSpan(name="a", attributes={"x": nested})])
    text = json.dumps(record.attributes["x"])
    assert "deep" not in text
