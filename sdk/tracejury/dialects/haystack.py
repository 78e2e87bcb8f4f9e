"""Haystack's own tracing.

Source: haystack-ai 2.19 and 3.4.
"""

from __future__ import annotations

from typing import Final

from tracejury.dialects.rules import (
    LEGACY,
    MARK,
    Dialect,
    Field,
    KindRule,
    NameRule,
    Rule,
    attrs,
    inside,
)

_REPLY: Final = "haystack.agent.step.llm.output"
_IN, _OUT = "haystack.component.input", "haystack.component.output"


def _of_reply(field: Field, *names: str) -> list[Rule]:
    """Rules for what chat generators (`replies.0.meta`) and others (`meta.0`, `meta`) tell."""
    paths = [f"{place}.{name}" for place in ("replies.0.meta", "meta.0", "meta") for name in names]
    return [
        *inside(field, LEGACY + 76, _REPLY, *(f"replies.0.meta.{name}" for name in names)),
        *inside(field, LEGACY + 77, _OUT, *paths, kinds="llm embedding"),
    ]


DIALECT = Dialect(
    name="haystack",
    label="Haystack",
    source="haystack-ai 2.19.0 and 3.4.0, opentelemetry-haystack",
    scopes=("haystack",),
    prefixes=("haystack.",),
    kinds=(
        KindRule("haystack.tool.name", MARK, always="tool"),
        KindRule("haystack.agent.step.llm.input", MARK, always="llm"),
        KindRule(
            "haystack.component.type",
            MARK,
            always="step",
            endings={
                "Generator": "llm",
                "Retriever": "retriever",
                "Embedder": "embedding",
                "Ranker": "reranker",
            },
        ),
    ),
    names=(
        NameRule(r"haystack\.pipeline\.run", "workflow"),
        NameRule(r"haystack\.agent\.run", "agent"),
        NameRule(r"haystack\.component\.run|haystack\.agent\.step", "step"),
        NameRule(r"haystack\.agent\.step\.llm", "llm"),
        NameRule(r"haystack\.tracing\..+", "event"),
    ),
    rules=(
        *attrs("input", LEGACY + 76, "haystack.agent.step.llm.input", "haystack.agent.input"),
        *attrs("input", LEGACY + 78, "haystack.pipeline.input_data"),
        *attrs("input", LEGACY + 79, _IN, kinds="llm embedding"),
        *attrs("output", LEGACY + 76, _REPLY, "haystack.agent.output"),
        *attrs("output", LEGACY + 78, "haystack.pipeline.output_data"),
        *inside("output", LEGACY + 79, _OUT, "replies", kinds="llm"),
        *inside("output", LEGACY + 79, _OUT, "tool_messages", kinds="step"),
        *attrs("tool_name", LEGACY + 76, "haystack.tool.name"),
        *attrs("tool_arguments", LEGACY + 76, "haystack.agent.step.tool.input", kinds="tool"),
        *attrs("tool_result", LEGACY + 76, "haystack.agent.step.tool.output", kinds="tool"),
        *attrs("failed", LEGACY + 76, "haystack.tool.error", kinds="tool"),
        *_of_reply("model", "model"),
        *_of_reply("input_tokens", "usage.prompt_tokens", "usage.input_tokens"),
        *_of_reply("output_tokens", "usage.completion_tokens", "usage.output_tokens"),
        *_of_reply("cache_read_tokens", "usage.prompt_tokens_details.cached_tokens"),
        *_of_reply("reasoning_tokens", "usage.completion_tokens_details.reasoning_tokens"),
        *inside("documents", LEGACY + 76, _OUT, "documents", kinds="retriever reranker"),
        *inside("query", LEGACY + 76, _IN, "query", kinds="retriever reranker"),
    ),
    known=(
        "haystack.agent.",
        "haystack.component.",
        "haystack.pipeline.",
    ),
    missing=(
        "Nothing but names and times is recorded unless content tracing is on.",
        "The model asked for is not recorded, only the version that answered.",
        "Sessions and users are not recorded.",
        "Haystack 2 gives each tool call no span of its own: its output stands in the messages.",
    ),
    enable="""\
export HAYSTACK_CONTENT_TRACING_ENABLED=true
pip install opentelemetry-haystack opentelemetry-exporter-otlp-proto-http
# Haystack 2 has the tracer in haystack.tracing; before `import haystack`:

from haystack import tracing
from haystack_integrations.tracing.opentelemetry import OpenTelemetryTracer
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(
    BatchSpanProcessor(OTLPSpanExporter("http://127.0.0.1:4318/v1/traces"))
)
trace.set_tracer_provider(provider)
tracing.enable_tracing(OpenTelemetryTracer(trace.get_tracer("haystack")))
""",
)
