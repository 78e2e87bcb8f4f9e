"""Weave: the conversation SDK and the processor for OpenAI's Agents SDK.

Source: weave 0.54.
"""

from __future__ import annotations

from tracejury.dialects.rules import LEGACY, CacheRule, Dialect, attrs

DIALECT = Dialect(
    name="weave",
    label="Weave",
    source="weave 0.54",
    scopes=("weave.",),
    prefixes=("weave.", "wandb."),
    rules=(*attrs("session_id", LEGACY + 60, "wandb.thread_id"),),
    cache=(
        # What the adapter for Anthropic takes over leaves cached tokens out of the input.
        CacheRule(
            basis="exclusive", scopes=("weave.conversation",), providers=("anthropic", "claude")
        ),
        CacheRule(basis="inclusive", scopes=("weave.",)),
    ),
    known=("weave.", "wandb."),
    missing=(
        "Only the conversation SDK and the integrations built on it write OpenTelemetry spans; "
        "calls of `@weave.op` go to Weave's own API.",
        "There is no place for the user.",
    ),
    enable="""\
# Before weave.init(): a tracer provider of your own, whose spans come here.
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(
    BatchSpanProcessor(OTLPSpanExporter("http://127.0.0.1:4318/v1/traces"))
)
trace.set_tracer_provider(provider)
""",
)
