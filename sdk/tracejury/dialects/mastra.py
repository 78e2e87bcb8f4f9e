"""Mastra.

Source: @mastra/core 0.24.9 and 1.71.0 with @mastra/otel-exporter 0.3.3 and 1.4.0.
"""

from __future__ import annotations

from tracejury.dialects.rules import EXPLICIT, LEGACY, Dialect, KindRule, attrs

_META = "mastra.metadata."
_SPANS = (
    *("agent_run", "workflow_run", "workflow_step", "model_generation", "model_step"),
    "model_inference",
)

DIALECT = Dialect(
    name="mastra",
    label="Mastra",
    source="@mastra/core 0.24.9 and 1.71.0, @mastra/otel-exporter 0.3.3 and 1.4.0",
    scopes=("@mastra/",),
    prefixes=("mastra.",),
    kinds=(
        KindRule(
            "mastra.span.type",
            EXPLICIT,
            {
                "agent_run": "agent",
                "workflow_run": "workflow",
                "workflow_step": "step",
                "model_generation": "llm",
                "llm_generation": "llm",
                "model_step": "step",
                "model_inference": "llm",
                "tool_call": "tool",
                "mcp_tool_call": "tool",
                "memory_operation": "memory",
                "processor_run": "step",
            },
        ),
    ),
    rules=(
        *attrs("session_id", LEGACY + 45, _META + "sessionId", _META + "threadId"),
        *attrs("user_id", LEGACY + 45, _META + "userId"),
        # Memory belongs to a resource: who talks, where nothing else says so.
        *attrs("user_id", LEGACY + 95, _META + "resourceId", "resourceId"),
        *attrs("input", LEGACY + 74, *(f"mastra.{span}.input" for span in _SPANS)),
        *attrs("output", LEGACY + 74, *(f"mastra.{span}.output" for span in _SPANS)),
        *(
            rule
            for span in ("tool_call", "mcp_tool_call")
            for rule in (
                *attrs("tool_arguments", LEGACY + 74, f"mastra.{span}.input", kinds="tool"),
                *attrs("tool_result", LEGACY + 74, f"mastra.{span}.output", kinds="tool"),
            )
        ),
    ),
    known=("mastra.", "gen_ai.agent.id", "agent.id", "modelId", "modelMetadata"),
    missing=("Sessions and users are recorded only with memory or as the metadata of a call.",),
    enable="""\
new Observability({ configs: { otel: { serviceName: "my-agent", exporters: [
  new OtelExporter({ provider: { custom: {
    endpoint: "http://127.0.0.1:4318/v1/traces", protocol: "http/protobuf" } } })] } } })
// in every call
agent.generate(text, { memory: { thread: sessionId, resource: userId },
  tracingOptions: { metadata: { sessionId, userId } } })""",
)
