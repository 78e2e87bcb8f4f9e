"""Strands Agents, and their spans and logs as Amazon Bedrock AgentCore exports them.

Source: strands-agents 0.1.9, 1.0.0, 1.62.0; aws-opentelemetry-distro (its handler of messages).
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    EVENT,
    LEGACY,
    MARK,
    Dialect,
    KindRule,
    NameRule,
    attrs,
    event,
)

_AGENT_CORE = "strands.telemetry.tracer"
_TALK = "llm agent workflow step"

DIALECT = Dialect(
    name="strands",
    label="Strands Agents and AgentCore",
    source="strands-agents 0.1.9 to 1.62.0",
    scopes=("strands.telemetry.tracer", "strands"),
    kinds=(
        KindRule("gen_ai.agent.tools", MARK, always="agent"),
        KindRule("event_loop.cycle_id", MARK, always="step"),
    ),
    names=(
        NameRule(r"Model invoke", "llm"),
        NameRule(r"Tool: (.+)", "tool"),
    ),
    rules=(
        *event("input", EVENT + 20, _AGENT_CORE, "input", _TALK),
        *event("output", EVENT + 20, _AGENT_CORE, "output", _TALK),
        *event("tool_arguments", EVENT + 20, _AGENT_CORE, "input", "tool"),
        *event("tool_result", EVENT + 20, _AGENT_CORE, "output", "tool"),
        *attrs("tool_result", LEGACY - 10, "tool.result", kinds="tool"),
        *attrs("failed", LEGACY, "tool.status", kinds="tool"),
        *attrs("system", LEGACY, "system_prompt"),
    ),
    not_providers=("strands-agents",),
    running_totals=True,
    known=(
        "gen_ai.event.",
        "gen_ai.agent.tools",
        "gen_ai.tool.json_schema",
        "agent.tools",
        "event_loop.",
    ),
    missing=(
        "Agents report the tokens of all their runs so far; their model calls are counted.",
        "Session and user stand on spans only if they are given as trace_attributes.",
        "On AgentCore the messages are moved to log records; without the logs no content is known.",
    ),
    enable="""\
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
export OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental
# in Python:
from strands.telemetry import StrandsTelemetry
StrandsTelemetry().setup_otlp_exporter()
agent = Agent(trace_attributes={"session.id": "…", "user.id": "…"})""",
)
