"""What leaves the process of a judge: its spans, without conversations that nobody held."""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracejury_collector.jury.tracing import WithoutConversations


def exported(attributes: dict[str, str]) -> tuple[ReadableSpan, ReadableSpan]:
    """A span with an event as it was recorded, and as it was sent."""
    sent, whole = InMemorySpanExporter(), InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(WithoutConversations(sent)))
    provider.add_span_processor(SimpleSpanProcessor(whole))
    with provider.get_tracer("judge").start_as_current_span("chat", attributes=attributes) as span:
        span.add_event("asked")
    provider.shutdown()
    return whole.get_finished_spans()[0], sent.get_finished_spans()[0]


def test_a_judgement_is_no_session() -> None:
    whole, sent = exported({"gen_ai.conversation.id": "made-up", "gen_ai.request.model": "m"})
    assert dict(sent.attributes or {}) == {"gen_ai.request.model": "m"}
    as_sent, as_recorded = sent.to_json(), whole.to_json()
    assert "made-up" in as_recorded
    dropped = '"gen_ai.conversation.id": "made-up",'
    assert as_recorded.replace(dropped, "").split() == as_sent.split()


def test_a_span_without_a_conversation_is_sent_as_it_is() -> None:
    whole, sent = exported({"gen_ai.request.model": "m"})
    assert sent.to_json() == whole.to_json()
