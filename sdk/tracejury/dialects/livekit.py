"""LiveKit Agents.

Source: livekit-agents 1.2 to 1.8 (`telemetry/trace_types.py`); since 1.5 content stands below
`lk.pii.`, and the GenAI conventions are written beside it.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    EXPLICIT,
    GENERIC,
    LEGACY,
    Dialect,
    KindRule,
    NameRule,
    Rule,
    Together,
    attrs,
    inside,
)

DIALECT = Dialect(
    name="livekit",
    label="LiveKit Agents",
    source="livekit-agents 1.8.9",
    scopes=("livekit-agents",),
    prefixes=(
        "lk.",
        "agent_state_changed",
    ),
    kinds=(KindRule("lk.function_tool.name", EXPLICIT, always="tool"),),
    names=(
        NameRule(r"agent_turn", "agent", overrides=True),
        NameRule(r"agent_session", "workflow"),
        NameRule(r"llm_node", "llm", overrides=True),
        NameRule(r"llm_request", "llm"),
        NameRule(r"function_tool", "tool"),
        NameRule(r"llm_request_run|user_turn|tts_node|eou_detection", "step", overrides=True),
    ),
    rules=(
        *attrs("user_id", LEGACY + 50, "lk.pii.participant_identity", "lk.participant_identity"),
        *attrs("agent_name", LEGACY + 40, "lk.agent_name", "lk.agent_label"),
        *inside("input", LEGACY + 60, "lk.pii.chat_ctx", "items"),
        *inside("input", LEGACY + 61, "lk.chat_ctx", "items"),
        *attrs("input", LEGACY + 62, "lk.pii.user_input", "lk.user_input"),
        *attrs("input", GENERIC, "lk.pii.user_transcript", "lk.user_transcript"),
        Rule(
            "output",
            Together(
                (
                    ("content", ("lk.pii.response.text", "lk.response.text")),
                    (
                        "tool_calls",
                        ("lk.pii.response.function_calls", "lk.response.function_calls"),
                    ),
                )
            ),
            LEGACY + 60,
        ),
        *attrs("system", LEGACY + 60, "lk.pii.instructions", "lk.instructions"),
        *attrs("tool_name", LEGACY + 30, "lk.function_tool.name"),
        *attrs("tool_call_id", LEGACY + 30, "lk.function_tool.id"),
        *attrs(
            "tool_arguments",
            LEGACY + 30,
            "lk.pii.function_tool.arguments",
            "lk.function_tool.arguments",
        ),
        *attrs(
            "tool_result", LEGACY + 30, "lk.pii.function_tool.output", "lk.function_tool.output"
        ),
        *attrs("failed", LEGACY + 30, "lk.function_tool.is_error"),
        *inside("input_tokens", LEGACY + 30, "lk.llm_metrics", "prompt_tokens"),
        *inside("output_tokens", LEGACY + 30, "lk.llm_metrics", "completion_tokens"),
        *inside("cache_read_tokens", LEGACY + 30, "lk.llm_metrics", "prompt_cached_tokens"),
        *attrs("ttft_s", CURRENT + 30, "lk.response.ttft"),
    ),
    known=("gen_ai.usage.input_cached_tokens", "gen_ai.usage.text.", "lk.", "agent_state_changed"),
    missing=(
        "With `input_delta` a prompt holds only what was added to the one before it.",
        "What a user says reaches the trace as the transcript of speech recognition.",
    ),
    enable="""\
from livekit.agents.telemetry import set_tracer_provider
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
provider = TracerProvider()
exporter = OTLPSpanExporter("http://127.0.0.1:4318/v1/traces")
provider.add_span_processor(BatchSpanProcessor(exporter))
set_tracer_provider(provider)""",
)
