"""Labels sent by stock exporters to a running service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import (
    OTLPLogExporter as GrpcLogExporter,
)
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from tests.helpers.service import RunningService, eventually, running_service
from tracejury import score

RESULT = {"gen_ai.evaluation.name": "correct", "gen_ai.evaluation.score.label": "pass"}
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "booker"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service that finishes traces quickly."""
    with running_service(tmp_path_factory.mktemp("labels")) as running:
        yield running


@pytest.fixture
def spans(service: RunningService) -> Iterator[TracerProvider]:
    """Spans that are exported when they end."""
    provider = TracerProvider()
    exporter = OTLPSpanExporter(endpoint=f"{service.otlp_http}/v1/traces")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider
    provider.shutdown()


@pytest.fixture(params=["grpc", "http"])
def logs(service: RunningService, request: pytest.FixtureRequest) -> Iterator[LoggerProvider]:
    """Log records that are exported at once, over either transport."""
    provider = LoggerProvider()
    exporter: Any = (
        GrpcLogExporter(endpoint=service.grpc, insecure=True)
        if request.param == "grpc"
        else OTLPLogExporter(endpoint=f"{service.otlp_http}/v1/logs")
    )
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    yield provider
    provider.shutdown()


def run_agent(spans: TracerProvider, label_id: str = "") -> SpanContext:
    """Run an agent of one span; return its context."""
    with spans.get_tracer("t").start_as_current_span("booker", attributes=AGENT) as span:
        if label_id:
            assert score("helpful", 0.75, comment="quick", label_id=label_id)
    return span.get_span_context()


def said(service: RunningService, context: SpanContext) -> list[tuple[Any, ...]]:
    items = service.get("/api/labels", trace_id=f"{context.trace_id:032x}")["items"]
    return [(i["name"], i["source"], i["span_id"], i["score"], i["verdict"]) for i in items]


def finished(service: RunningService, context: SpanContext) -> None:
    path = f"/api/traces/{context.trace_id:032x}"
    eventually(lambda: service.get(path)["status"] == "complete", "the trace is finished")


def emit(logs: LoggerProvider, context: SpanContext, **attributes: Any) -> None:
    """Report an evaluation of a span, as pydantic-evals does: below a span that has ended."""
    parent = set_span_in_context(NonRecordingSpan(context))
    record = LogRecord(
        context=parent,
        event_name="gen_ai.evaluation.result",
        body="evaluation: correct=True",
        attributes={**RESULT, **attributes},
    )
    logs.get_logger("pydantic-evals").emit(record)


def test_score_on_the_current_span_is_a_label_with_its_trace(
    service: RunningService, spans: TracerProvider
) -> None:
    context = run_agent(spans, "thumb-1")
    assert said(service, context) == [
        ("helpful", "span_event", f"{context.span_id:016x}", 0.75, None)
    ]
    finished(service, context)
    trace = service.get(f"/api/traces/{context.trace_id:032x}")
    assert [(label["label_id"], label["comment"]) for label in trace["labels"]] == [
        ("thumb-1", "quick")
    ]
    assert score("helpful", True, trace_id=context.trace_id, label_id="thumb-1", url=service.api)
    assert said(service, context) == [("helpful", "api", None, 1.0, "pass")]


def test_a_log_record_is_a_label_and_leaves_the_finished_trace_as_it_is(
    service: RunningService, spans: TracerProvider, logs: LoggerProvider
) -> None:
    context = run_agent(spans)
    finished(service, context)
    emit(logs, context)
    emit(logs, context, **{"error.type": "Timeout"})
    assert said(service, context) == [("correct", "log", f"{context.span_id:016x}", 1.0, "pass")]
    trace = service.get(f"/api/traces/{context.trace_id:032x}")
    assert (trace["status"], trace["revision"]) == ("complete", 1)


def test_a_label_that_comes_before_its_trace_waits_for_it(
    service: RunningService, spans: TracerProvider, logs: LoggerProvider
) -> None:
    ids = spans.id_generator
    context = SpanContext(
        ids.generate_trace_id(), ids.generate_span_id(), False, TraceFlags(TraceFlags.SAMPLED)
    )
    emit(logs, context)
    trace_id = f"{context.trace_id:032x}"
    assert service.sql(f"SELECT * FROM traces WHERE trace_id = '{trace_id}'") == []
    parent = set_span_in_context(NonRecordingSpan(context))
    with spans.get_tracer("t").start_as_current_span("booker", parent, attributes=AGENT):
        pass
    assert len(service.get(f"/api/traces/{trace_id}")["labels"]) == 1


def test_labels_outlive_the_store(
    service: RunningService, spans: TracerProvider, tmp_path: Path
) -> None:
    context = run_agent(spans, "thumb-2")
    before = said(service, context)
    service.children()["store"].kill()
    eventually(service.is_ready, "the store is back", log=service.log)
    assert said(service, context) == before
