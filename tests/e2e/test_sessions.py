"""Conversations of several traces, exported over OTLP, and traces that are no runs."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    Tracer,
    format_trace_id,
    set_span_in_context,
)

from tests.helpers.service import RunningService, eventually, running_service

FAST = "completion: {after_root: 300ms, idle: 1s, tick: 50ms}\n"
KEYS = [
    "session.id", "gen_ai.conversation.id", "langfuse.session.id",
    "traceloop.association.properties.thread_id", "traceloop.association.properties.session_id",
    "ai.telemetry.metadata.sessionId", "langsmith.metadata.thread_id",
    "lmnr.association.properties.session_id", "mlflow.trace.session",
    "gcp.vertex.agent.session_id",
]  # fmt: skip
CHAT: dict[str, Any] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 10,
}
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("sessions"), FAST) as running:
        yield running


@pytest.fixture(scope="module")
def tracer(service: RunningService) -> Iterator[Tracer]:
    yield from tracer_of(service)


def tracer_of(service: RunningService) -> Iterator[Tracer]:
    """Give a tracer that exports to the service, span by span."""
    provider = TracerProvider(resource=Resource.create({"service.name": "booking"}))
    exporter = OTLPSpanExporter(endpoint=f"{service.otlp_http}/v1/traces")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider.get_tracer("tests")
    provider.shutdown()


def turn(
    tracer: Tracer, *, root: Mapping[str, Any] | None = None, chat: Mapping[str, Any] | None = None
) -> SpanContext:
    """Export one trace: an agent's run around one model call, with further attributes."""
    text = f"turn {next(_numbers)}"
    with tracer.start_as_current_span("invoke_agent", attributes={**AGENT, **(root or {})}) as run:
        messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])
        said = {"gen_ai.input.messages": messages}
        with tracer.start_as_current_span("chat", attributes={**CHAT, **said, **(chat or {})}):
            time.sleep(0.002)
    return run.get_span_context()


def finished(service: RunningService, *runs: SpanContext, revision: int = 1) -> None:
    """Wait until the traces have that revision."""
    ids = ", ".join(f"'{format_trace_id(run.trace_id)}'" for run in runs)
    query = f"SELECT count(*) FROM traces WHERE trace_id IN ({ids}) AND revision >= {revision}"
    eventually(lambda: service.sql(query) == [[len(runs)]], "traces finish", log=service.log)


@pytest.mark.parametrize("key", KEYS)
def test_a_conversation_is_put_together_by_the_key_of_its_framework(
    service: RunningService, tracer: Tracer, key: str
) -> None:
    session_id = f"chat/{key}"
    named = {key: session_id}
    runs = [
        turn(tracer, root=named),
        turn(tracer, chat=named),
        turn(tracer, root=named, chat=named),
    ]
    finished(service, *runs)
    session = service.get(f"/api/sessions/{quote(session_id, safe='')}")
    assert [trace["trace_id"] for trace in session["traces"]] == [
        format_trace_id(run.trace_id) for run in runs
    ]
    assert (session["runs"], session["llm_calls"], session["total_tokens"]) == (3, 3, 330)
    assert session["cost_usd"] == pytest.approx(3 * 0.00035)
    assert session["agent_names"] == ["planner"]
    assert session["input"] == session["traces"][0]["input"]
    listed = service.get("/api/sessions", where=f"session_id = '{session_id}'")["items"]
    assert [(item["traces"], item["total_tokens"]) for item in listed] == [(3, 330)]


def test_where_spans_disagree_the_root_names_the_session(
    service: RunningService, tracer: Tracer
) -> None:
    run = turn(tracer, root={"session.id": "of the root"}, chat={"session.id": "of the child"})
    finished(service, run)
    assert service.get("/api/sessions/of the root")["trace_count"] == 1
    assert service.get("/api/sessions", where="session_id = 'of the child'")["items"] == []


def test_a_project_is_no_session(service: RunningService, tracer: Tracer) -> None:
    project = {"langsmith.trace.session_id": "p-1", "langsmith.trace.session_name": "default"}
    run = turn(tracer, root=project, chat=project)
    both = turn(tracer, root={**project, "langsmith.metadata.thread_id": "t-1"}, chat=project)
    finished(service, run, both)
    (bare,) = service.sql(
        f"SELECT session_id FROM traces WHERE trace_id = '{format_trace_id(run.trace_id)}'"
    )
    assert bare == [None]
    assert service.get("/api/sessions/t-1")["trace_count"] == 1


def test_late_spans_replace_the_totals_of_the_session(
    service: RunningService, tracer: Tracer
) -> None:
    runs = [turn(tracer, root={"session.id": "late"}) for _ in range(3)]
    finished(service, *runs)
    assert service.get("/api/sessions/late")["total_tokens"] == 330
    parent = set_span_in_context(NonRecordingSpan(runs[1]))
    tracer.start_span("chat", context=parent, attributes=CHAT).end()
    finished(service, runs[1], revision=2)
    session = service.get("/api/sessions/late")
    assert (session["runs"], session["llm_calls"], session["total_tokens"]) == (3, 4, 440)
    assert [trace["revision"] for trace in session["traces"]] == [1, 2, 1]


EMBEDDING = {
    "gen_ai.operation.name": "embeddings",
    "gen_ai.request.model": "text-embedding-3-small",
    "gen_ai.usage.input_tokens": 40,
}
NO_RUNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a lone create_agent": (
        "setup",
        "create_agent planner",
        {"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "planner"},
    ),
    "an MCP initialization": ("setup", "initialize", {"mcp.method.name": "initialize"}),
    "the building of an index": ("setup", "embeddings", EMBEDDING),
    "an evaluation": (
        "evaluator",
        "evaluate relevance",
        {"openinference.span.kind": "EVALUATOR", "input.value": "x", "output.value": "0.5"},
    ),
}


@pytest.mark.parametrize("name", NO_RUNS)
def test_a_trace_that_is_no_run_is_kept_and_not_judged(
    service: RunningService, tracer: Tracer, name: str
) -> None:
    kind, span_name, attributes = NO_RUNS[name]
    session = {"session.id": f"session of {name}"}
    with tracer.start_as_current_span(span_name, attributes={**attributes, **session}) as span:
        time.sleep(0.001)
    run = turn(tracer, root=session)
    finished(service, span.get_span_context(), run)
    trace_id = format_trace_id(span.get_span_context().trace_id)
    assert service.sql(f"SELECT kind FROM traces WHERE trace_id = '{trace_id}'") == [[kind]]
    chosen = service.get("/api/traces", where=f"kind = '{kind}'")["items"]
    assert (trace_id, kind) in [(item["trace_id"], item["kind"]) for item in chosen]
    explanation = service.get(f"/api/traces/{trace_id}/explain")
    reason = f"this trace is no run: kind {kind}"
    assert f"rule 'default' on revision 1: filtered, {reason}" in explanation["lines"]
    assert [(d["outcome"], d["reason"]) for d in explanation["decisions"]] == [("filtered", reason)]
    session_ = service.get(f"/api/sessions/session of {name}")
    assert (session_["trace_count"], session_["runs"], session_["total_tokens"]) == (2, 1, 110)
    (decision,) = service.get(f"/api/traces/{format_trace_id(run.trace_id)}")["decisions"]
    assert decision["outcome"] == "selected"
