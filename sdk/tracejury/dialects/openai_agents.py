"""OpenAI Agents SDK, as the bridge of OpenTelemetry's own instrumentation records it.

Other bridges write other dialects: OpenInference, OpenLLMetry, Logfire, MLflow, Langfuse.

Source: opentelemetry-instrumentation-openai-agents-v2 0.1.0, openai-agents 0.24.0.
"""

from __future__ import annotations

from tracejury.dialects.rules import CURRENT, Dialect, NameRule, attrs

DIALECT = Dialect(
    name="openai_agents",
    label="OpenAI Agents SDK",
    source="opentelemetry-instrumentation-openai-agents-v2 0.1.0 with openai-agents 0.24.0",
    prefixes=("gen_ai.handoff.", "gen_ai.guardrail.", "gen_ai.orchestrator."),
    names=(NameRule(r"agent_handoff (.+)", "handoff"),),
    rules=(*attrs("agent_name", CURRENT + 5, "gen_ai.handoff.from_agent", kinds="handoff"),),
    known=("gen_ai.handoff.", "gen_ai.guardrail.", "gen_ai.orchestrator."),
    missing=(
        "The group id of a run, its session, is recorded by Logfire and Langfuse alone.",
        "OpenLLMetry's bridge records no answers and no tokens of the Chat Completions API; "
        "instrument the OpenAI client beside it.",
        "Streams of the Chat Completions API report tokens only with include_usage.",
    ),
    enable="""\
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
export OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental
export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT
# pip install opentelemetry-instrumentation-openai-agents-v2, then in Python:
from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor
OpenAIAgentsInstrumentor().instrument()""",
)
