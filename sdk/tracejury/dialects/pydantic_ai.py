"""Pydantic AI, instrumentation versions 1 to 6.

Source: pydantic-ai v0.0.20 to 2.68.
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    EVENT,
    LEGACY,
    MARK,
    Dialect,
    KindRule,
    NameRule,
    attrs,
    inside,
)

DIALECT = Dialect(
    name="pydantic_ai",
    label="Pydantic AI",
    source="pydantic-ai 2.68",
    scopes=("pydantic-ai",),
    prefixes=("pydantic_ai.",),
    kinds=(
        KindRule("all_messages_events", MARK, always="agent"),
        KindRule("pydantic_ai.all_messages", MARK, always="agent"),
        KindRule("all_messages", MARK, always="agent"),
    ),
    names=(
        NameRule(r"agent run", "agent"),
        NameRule(r"model request", "llm"),
        NameRule(r"running tool(?:: (.+))?", "tool"),
        NameRule(r"running \d+ tools?", "step"),
        NameRule(r"running output function(?:: (.+))?", "step", overrides=True),
    ),
    rules=(
        *attrs("agent_name", LEGACY, "agent_name"),
        *attrs("model", CURRENT + 80, "model_name"),
        *attrs("input", CURRENT + 30, "pydantic_ai.all_messages", kinds="agent"),
        *attrs("input", EVENT + 20, "all_messages_events", kinds="agent"),
        *attrs("input", EVENT + 30, "events", kinds="llm"),
        *attrs("input", EVENT + 21, "all_messages", kinds="agent"),
        *attrs("output", EVENT + 21, "all_messages", kinds="agent"),
        *inside("input_tokens", LEGACY, "usage", "request_tokens", kinds="llm agent"),
        *inside("output_tokens", LEGACY, "usage", "response_tokens", kinds="llm agent"),
        *attrs("final_output", CURRENT, "final_result"),
        *attrs("output", CURRENT + 20, "final_result", kinds="agent"),
        *attrs("output", CURRENT + 30, "pydantic_ai.all_messages", kinds="agent"),
        *attrs("output", EVENT + 20, "all_messages_events", kinds="agent"),
        *attrs("output", EVENT + 30, "events", kinds="llm"),
        *attrs("message_offset", CURRENT, "pydantic_ai.new_message_index"),
        *inside("tool_definitions", LEGACY, "model_request_parameters", "function_tools"),
        *attrs("tool_arguments", CURRENT + 30, "tool_arguments"),
        *attrs("tool_result", CURRENT + 30, "tool_response"),
        *attrs("cost_usd", CURRENT - 10, "operation.cost"),
    ),
    answer_tools=(r"final_result(?:_\w+)?",),
    known=(
        "gen_ai.agent.call.id",
        "gen_ai.aggregated_usage.",
        "gen_ai.usage.details.",
        "logfire.json_schema",
        "model_request_parameters",
        "pydantic_ai.",
        "tool_responses",
    ),
    missing=(
        "With `include_content=False` messages and tool calls keep their structure and no content.",
        "Up to instrumentation version 1 with `event_mode='logs'` the content travels as logs.",
    ),
    enable="""\
# export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
Agent.instrument_all()""",
)
