"""Pipecat.

Source: pipecat-ai 0.0.60 to 1.14 (`utils/tracing`).
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    EXPLICIT,
    LEGACY,
    MARK,
    Dialect,
    KindRule,
    NameRule,
    attrs,
)

DIALECT = Dialect(
    name="pipecat",
    label="Pipecat",
    source="pipecat-ai 1.14",
    scopes=("pipecat",),
    kinds=(
        KindRule("turn.number", MARK, always="agent"),
        KindRule("conversation.type", MARK + 1, always="workflow"),
        KindRule("tool.function_name", EXPLICIT, always="tool"),
    ),
    names=(NameRule(r"stt|tts", "step", overrides=True),),
    rules=(
        *attrs("session_id", LEGACY + 15, "conversation.id"),
        *attrs("tool_name", LEGACY + 40, "tool.function_name"),
        *attrs("tool_call_id", LEGACY + 40, "tool.call_id"),
        *attrs("tool_arguments", LEGACY + 40, "tool.arguments"),
        *attrs("tool_result", LEGACY + 40, "tool.result"),
        *attrs("failed", LEGACY + 40, "tool.result_status"),
        *attrs("ttft_s", LEGACY + 40, "metrics.ttfb"),
        *attrs("tool_definitions", LEGACY + 40, "tools", "tools.definitions", kinds="llm"),
    ),
    known=("metrics.", "param.", "settings.", "turn.", "voice_id"),
    missing=(
        "Function calls have spans only with the realtime services; else they are read from the "
        "model's messages.",
    ),
    enable="""\
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from pipecat.utils.tracing.setup import setup_tracing
setup_tracing("my-agent", exporter=OTLPSpanExporter("http://127.0.0.1:4318/v1/traces"))
# and: PipelineTask(pipeline, params=PipelineParams(enable_metrics=True), enable_tracing=True)""",
)
