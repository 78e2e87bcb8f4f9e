"""Langfuse SDK 3 to 5.

Source: langfuse-python 3.15 to 5.0.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    EXPLICIT,
    LEGACY,
    VENDOR,
    CacheRule,
    Dialect,
    KindRule,
    added,
    attrs,
    inside,
)

_OBSERVATION = "langfuse.observation."
_USAGE = _OBSERVATION + "usage_details"
_META = _OBSERVATION + "metadata."

DIALECT = Dialect(
    name="langfuse",
    label="Langfuse SDK",
    source="langfuse-python 3.15, 4.18 and 5.0",
    scopes=("langfuse",),
    prefixes=("langfuse.",),
    kinds=(
        KindRule(
            _OBSERVATION + "type",
            EXPLICIT,
            {
                "generation": "llm",
                "agent": "agent",
                "tool": "tool",
                "chain": "workflow",
                "retriever": "retriever",
                "embedding": "embedding",
                "evaluator": "evaluator",
                "guardrail": "guardrail",
                "event": "event",
            },
        ),
    ),
    rules=(
        *attrs("session_id", LEGACY + 5, "langfuse.session.id"),
        *attrs("session_id", LEGACY + 92, _META + "thread_id", guard="quoted"),
        *attrs("session_id", LEGACY + 6, _META + "langfuse_session_id", guard="quoted"),
        *attrs("user_id", LEGACY + 5, "langfuse.user.id"),
        *attrs("user_id", LEGACY + 6, _META + "langfuse_user_id", guard="quoted"),
        *attrs("model", VENDOR, _OBSERVATION + "model.name", guard="quoted"),
        *attrs("request_model", CURRENT + 30, _META + "ls_model_name", guard="quoted"),
        *attrs("provider", CURRENT + 30, _META + "ls_provider", guard="quoted"),
        *attrs("agent_name", CURRENT + 30, _META + "lc_agent_name", guard="quoted"),
        # Until 3.3 texts are JSON as well.
        *attrs("input", VENDOR, _OBSERVATION + "input", guard="quoted"),
        *attrs("output", VENDOR, _OBSERVATION + "output", guard="quoted"),
        *attrs("input", LEGACY + 95, "langfuse.trace.input"),
        *attrs("output", LEGACY + 95, "langfuse.trace.output"),
        *attrs("tool_arguments", VENDOR, _OBSERVATION + "input", kinds="tool", guard="quoted"),
        *attrs("tool_result", VENDOR, _OBSERVATION + "output", kinds="tool", guard="quoted"),
        *attrs("query", VENDOR, _OBSERVATION + "input", kinds="retriever", guard="quoted"),
        *attrs("documents", VENDOR, _OBSERVATION + "output", kinds="retriever", guard="quoted"),
        *inside("tool_definitions", VENDOR, _OBSERVATION + "input", "tools", kinds="llm"),
        # What the model's own client returned (`prompt_tokens`, `input_tokens`), or buckets that
        # do not overlap: `input`, `input_cache_read`, `output`, `output_reasoning`, ...
        *inside("input_tokens", VENDOR, _USAGE, "prompt_tokens"),
        *added(
            "input_tokens",
            VENDOR + 1,
            _USAGE,
            "input_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ),
        *added(
            "input_tokens",
            VENDOR + 2,
            _USAGE,
            "input",
            "input*",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ),
        *inside("output_tokens", VENDOR, _USAGE, "completion_tokens", "output_tokens"),
        *added("output_tokens", VENDOR + 1, _USAGE, "output", "output*"),
        *inside("total_tokens", VENDOR, _USAGE, "total_tokens", "total"),
        *inside(
            "cache_read_tokens",
            VENDOR,
            _USAGE,
            "prompt_tokens_details.cached_tokens",
            "input_tokens_details.cached_tokens",
            "input_cache_read",
            "input_cached_tokens",
            "cache_read_input_tokens",
        ),
        *inside(
            "cache_write_tokens",
            VENDOR,
            _USAGE,
            "input_cache_creation",
            "cache_creation_input_tokens",
        ),
        *inside(
            "reasoning_tokens",
            VENDOR,
            _USAGE,
            "completion_tokens_details.reasoning_tokens",
            "output_tokens_details.reasoning_tokens",
            "output_reasoning",
            "output_reasoning_tokens",
        ),
        *inside("cost_usd", VENDOR, _OBSERVATION + "cost_details", "total"),
        *added("cost_usd", VENDOR + 1, _OBSERVATION + "cost_details", "input", "input*", "output*"),
        *attrs("params", CURRENT + 20, _OBSERVATION + "model.parameters"),
        *attrs("failed", CURRENT + 5, _OBSERVATION + "level"),
        *attrs("error_message", CURRENT + 5, _OBSERVATION + "status_message"),
    ),
    cache=(CacheRule(basis="inclusive", present=(_USAGE,)),),
    known=(
        "langfuse.environment",
        "langfuse.release",
        "langfuse.version",
        "langfuse.internal.",
        "langfuse.experiment.",
        "langfuse.trace.",
        "langfuse.observation.completion_start_time",
        "langfuse.observation.metadata",
        "langfuse.observation.prompt.",
    ),
    missing=(
        "The wrapper around OpenAI records the model that answered, not the one that was asked.",
        "Functions traced with a plain `@observe()` have no kind: a tool among them is recognized "
        "by the model's request for it.",
        "Scores do not travel with the spans.",
    ),
    enable="""\
# After the client is made, send its spans here as well:
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

trace.get_tracer_provider().add_span_processor(
    BatchSpanProcessor(OTLPSpanExporter("http://127.0.0.1:4318/v1/traces"))
)
""",
)
