"""Calls of judges, traced into the service itself, in a project of their own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from tracejury_collector.config import JudgeSettings
from tracejury_collector.rules import JUDGE_PROJECT
from tracejury_evaluators.judge.tracing import Tracing, trace_judges

SERVICE = "tracejury-judge"
EXPORT_S = 5
DELAY_MS = 1_000
MOST_SPANS = 2_048
"""Spans that wait to be sent; what comes on top while nothing can be is dropped."""
_CONVERSATION = "gen_ai.conversation.id"
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}


def start_tracing(settings: JudgeSettings, otlp_http: str, own_key: str) -> Callable[[float], None]:
    """Have the judges of this process traced to this address; what ends that, within seconds."""
    if not settings.trace:
        return lambda _: None
    # a receiver that is being replaced is no news, and to lose these spans is no harm
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    resource = Resource.create({SERVICE_NAME: SERVICE, "tracejury.project": JUDGE_PROJECT})
    provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(
        endpoint=f"http://{_own(otlp_http)}/v1/traces",
        headers={"x-api-key": own_key},
        timeout=EXPORT_S,
    )
    provider.add_span_processor(
        BatchSpanProcessor(
            WithoutConversations(exporter),
            max_queue_size=MOST_SPANS,
            schedule_delay_millis=DELAY_MS,
        )
    )
    trace_judges(Tracing(provider=provider, with_content=settings.trace_content))
    return lambda limit_s: _within(limit_s, provider)


class WithoutConversations(SpanExporter):
    """Sends spans without the id that Pydantic AI makes up for each call.

    With it every judgement would be a session, and the list of sessions mostly judgements.
    """

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send the spans."""
        return self._exporter.export([_without_conversation(span) for span in spans])

    def shutdown(self) -> None:
        """Send no more."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Send what the exporter holds."""
        return self._exporter.force_flush(timeout_millis)


def _without_conversation(span: ReadableSpan) -> ReadableSpan:
    if _CONVERSATION not in (span.attributes or {}):
        return span
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={k: v for k, v in (span.attributes or {}).items() if k != _CONVERSATION},
        events=span.events,
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _own(address: str) -> str:
    """The address at which this machine reaches what listens there."""
    host, _, port = address.rpartition(":")
    return f"{_EVERYWHERE.get(host, host)}:{port}"


def _within(limit_s: float, provider: TracerProvider) -> None:
    """Send what waits, unless that takes too long."""
    sending = threading.Thread(target=provider.force_flush, daemon=True)
    sending.start()
    sending.join(limit_s)
