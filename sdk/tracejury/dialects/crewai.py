"""CrewAI's own spans, and what instrumentations record of crews and tasks.

Source: crewai 1.15.30 (crewai.telemetry.tracing).
"""

from __future__ import annotations

from tracejury.dialects.rules import (
    CURRENT,
    LEGACY,
    VENDOR,
    Dialect,
    NameRule,
    attrs,
)

_CONTENT = (
    "gen_ai.input.messages.truncated",
    "gen_ai.output.messages.truncated",
    "gen_ai.tool.call.arguments.truncated",
    "gen_ai.tool.call.result.truncated",
)

DIALECT = Dialect(
    name="crewai",
    label="CrewAI",
    source="crewai 1.15.30",
    scopes=("crewai",),
    prefixes=("crewai.",),
    names=(
        NameRule(r"tool failure", "event", overrides=True),
        NameRule(r"execute mcp tool", "tool"),
        NameRule(r"execute (?:flow|crew)", "workflow"),
        NameRule(r"execute (?:lite )?agent", "agent"),
        NameRule(r"call method|agent reasoning", "step"),
        NameRule(r"evaluate guardrail", "guardrail"),
        NameRule(r"(?:query|retrieve|save) memory", "memory"),
        NameRule(r"(?:search|query) knowledge", "retriever"),
    ),
    rules=(
        *attrs("input", VENDOR, "crewai.task.description", kinds="step"),
        *attrs("input", VENDOR, "task_description", kinds="agent"),
        *attrs("agent_name", VENDOR, "crewai.agent.role", kinds="agent"),
        *attrs("tool_arguments", LEGACY + 30, "crewai.mcp.tool_args", kinds="tool"),
        *attrs("tool_result", LEGACY + 30, "crewai.mcp.tool_result", kinds="tool"),
        *attrs("tool_name", LEGACY + 30, "crewai.mcp.tool_name", kinds="tool"),
        *attrs("truncated", CURRENT, *_CONTENT),
    ),
    known=(
        "crewai.",
        "gen_ai.workflow.name",
        "gen_ai.input.messages.",
        "gen_ai.output.messages.",
        "crew_",
        "task_",
        "agent_id",
        "agent_key",
    ),
    missing=(
        "A crew started without inputs records `null` as its input: the question is the "
        "description of its first task.",
        "CrewAI names no session of its own: a conversation id must be given to the session.",
        "OpenInference records model calls only with its event listener, or with the "
        "instrumentation of the model's library.",
    ),
    enable="""\
from crewai.telemetry.tracing import telemetry_session
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

exporter = OTLPSpanExporter("http://127.0.0.1:4318/v1/traces")
with telemetry_session(
    run_id, "my-crew", exporters=[exporter], attributes={"gen_ai.conversation.id": session_id}
):
    crew.kickoff()
""",
)
