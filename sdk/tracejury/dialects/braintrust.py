"""Braintrust: attributes of its own on OpenTelemetry spans.

Source: braintrust 0.48 and its documentation of OpenTelemetry attributes.
"""

from __future__ import annotations

from typing import Final

from tracejury.dialects.rules import (
    CURRENT,
    EXPLICIT,
    LEGACY,
    VENDOR,
    CacheRule,
    Dialect,
    KindRule,
    attrs,
    inside,
)
from tracejury.trace import SpanKind

_B = "braintrust."
_METRICS = _B + "metrics"
_META = _B + "metadata"
_KINDS: Final[dict[str, SpanKind]] = {
    "llm": "llm",
    "tool": "tool",
    "task": "workflow",
    "function": "step",
    "eval": "evaluator",
    "score": "evaluator",
    "facet": "evaluator",
    "automation": "workflow",
    "review": "evaluator",
}

DIALECT = Dialect(
    name="braintrust",
    label="Braintrust",
    source="braintrust 0.48",
    scopes=("braintrust",),
    prefixes=(_B,),
    kinds=(
        KindRule(_B + "span_attributes", EXPLICIT, _KINDS, member="type"),
        KindRule(_B + "span_attributes.type", EXPLICIT, _KINDS),
    ),
    rules=(
        *inside("session_id", LEGACY + 50, _META, "session_id", "thread_id", "conversation_id"),
        *attrs("session_id", LEGACY + 51, _META + ".session_id"),
        *inside("user_id", LEGACY + 50, _META, "user_id"),
        *attrs("user_id", LEGACY + 51, _META + ".user_id"),
        *inside("model", LEGACY + 50, _META, "model"),
        *attrs("model", LEGACY + 51, _META + ".model"),
        *attrs("input", LEGACY + 73, _B + "input_json", _B + "input"),
        *attrs("output", LEGACY + 75, _B + "output_json", _B + "output"),
        *attrs("tool_arguments", LEGACY + 73, _B + "input_json", _B + "input", kinds="tool"),
        *attrs("tool_result", LEGACY + 75, _B + "output_json", _B + "output", kinds="tool"),
        *inside("tool_definitions", LEGACY + 50, _META, "tools"),
        *inside("input_tokens", CURRENT + 50, _METRICS, "prompt_tokens"),
        *inside("output_tokens", CURRENT + 50, _METRICS, "completion_tokens"),
        *inside("total_tokens", CURRENT + 50, _METRICS, "tokens"),
        *inside("cache_read_tokens", CURRENT + 50, _METRICS, "prompt_cached_tokens"),
        *inside("cache_write_tokens", CURRENT + 50, _METRICS, "prompt_cache_creation_tokens"),
        *inside("reasoning_tokens", CURRENT + 50, _METRICS, "completion_reasoning_tokens"),
        *attrs("input_tokens", CURRENT + 52, _METRICS + ".prompt_tokens"),
        *attrs("output_tokens", CURRENT + 52, _METRICS + ".completion_tokens"),
        *attrs("total_tokens", CURRENT + 52, _METRICS + ".tokens"),
        *attrs("cache_read_tokens", CURRENT + 52, _METRICS + ".prompt_cached_tokens"),
        *inside("cost_usd", VENDOR, _METRICS, "estimated_cost"),
    ),
    cache=(
        CacheRule(basis="inclusive", present=(_METRICS,)),
        CacheRule(basis="inclusive", present=(_METRICS + ".prompt_tokens",)),
    ),
    known=(_B,),
    missing=(
        "Braintrust's own logger writes to its own API; over OpenTelemetry come the spans of other "
        "libraries and what the program puts on them.",
    ),
    enable="""\
# Spans that go to Braintrust by its span processor come here as well:
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

trace.get_tracer_provider().add_span_processor(
    BatchSpanProcessor(OTLPSpanExporter("http://127.0.0.1:4318/v1/traces"))
)
""",
)
